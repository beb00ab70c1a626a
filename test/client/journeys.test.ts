import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Factor, Proof, SignInStep } from 'gatehouse-client'
import { useFixture } from '../support/fixture.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { startHarness } from '../support/harness.ts'
import { answerAtProvider } from '../support/identity-provider.ts'
import { navigate } from '../support/navigate.ts'
import { factorOf, lastOf, type NodeClient, openNodeClient, signIn, stepAt } from '../support/node-client.ts'
import { onClassicEngine } from '../support/on-classic-engine.ts'

/** Sign-ins with a second factor through gatehouse-client in Node: each kind of challenge, and each way out of a step. */

const FAST = { everyMs: 1 }

const harness = useFixture({
  start: () =>
    startHarness({
      tunables: generousLimits,
      env: { STEP_UP: 'on' },
      sandboxConfig: (config) => ({
        ...config,
        signInPage: 'https://portal.example.test/back',
        limits: { ...config.limits, wrongCodes: 1000, resendSeconds: 0 },
      }),
    }),
  stop: ({ stop }) => stop(),
})
beforeEach(() => harness.sandbox.reset())

/** The way in which a user proves a factor. */
interface FactorJourney {
  readonly login: string
  /** Refused, and the step stays usable. */
  readonly wrong?: Proof
  /** Undefined: the user approves elsewhere. */
  readonly right?: (login: string, step: SignInStep) => Proof
  /** `next` of the challenge that comes first, if one does. */
  readonly challenge?: 'verify' | 'poll' | 'redirect'
  readonly approve?: (client: NodeClient, login: string, step: SignInStep) => Promise<unknown> | unknown
  readonly amr: readonly string[]
}

const sentCode = (login: string) => ({
  passCode: harness.sandbox.outbox.latest(`${login}@example.test`, 'factor-code')?.code ?? 'none was sent',
})
const WRONG_CODE = { passCode: '000000' }

const JOURNEYS: Readonly<Record<string, FactorJourney>> = {
  question: {
    login: 'quentin.query',
    wrong: { answer: 'not this' },
    right: () => ({ answer: 'lighthouse' }),
    amr: ['pwd', 'kba', 'mfa'],
  },
  sms: {
    login: 'sana.sms',
    challenge: 'verify',
    wrong: WRONG_CODE,
    right: sentCode,
    amr: ['pwd', 'sms', 'mfa'],
  },
  push: {
    login: 'nina.number',
    challenge: 'poll',
    amr: ['pwd', 'swk', 'mfa'],
    approve(_client, login, step) {
      const { correctAnswer } = stepAt(step, 'MFA_CHALLENGE', 'poll')
      harness.sandbox.phone.answer(login, correctAnswer ?? 'approve')
    },
  },
  'token:software:totp': {
    login: 'otto.token',
    wrong: WRONG_CODE,
    right: (login) => ({ passCode: harness.sandbox.totpCode(login) }),
    amr: ['pwd', 'otp', 'mfa'],
  },
  webauthn: {
    login: 'wanda.key',
    challenge: 'verify',
    wrong: { clientData: 'e30=', authenticatorData: 'e30=', signatureData: 'e30=' },
    right: (login, step) => signed(login, challengeOf(step)),
    amr: ['pwd', 'hwk', 'mfa'],
  },
  web: {
    login: 'dario.duo',
    challenge: 'poll',
    amr: ['pwd', 'mfa'],
    approve: (_client, login, step) =>
      stepAt(step, 'MFA_CHALLENGE', 'poll').duo?.complete(harness.sandbox.duoResponse(login)),
  },
  claims_provider: {
    login: 'cleo.claims',
    challenge: 'redirect',
    amr: ['pwd', 'mfa'],
    approve: ({ browser }, _login, step) =>
      answerAtProvider(harness, browser, stepAt(step, 'MFA_CHALLENGE', 'redirect').redirectUrl, 'approve'),
  },
}
const ROWS = Object.entries(JOURNEYS).map(([factorType, row]) => ({ factorType, ...row }))

function challengeOf(step: SignInStep): string {
  const { factor, answer } = stepAt(step, 'MFA_CHALLENGE', 'verify')
  const own = factor?.factorType === 'webauthn' ? factor._embedded?.challenge?.challenge : undefined
  return own ?? answer._embedded.challenge?.challenge ?? 'no challenge'
}

function signed(login: string, challenge: string, credentialId?: string) {
  return harness.sandbox.authenticator(login, credentialId).signWebauthn(challenge, harness.gatehouse.url)
}

async function begin(login: string, factorType: string) {
  const client = await openNodeClient(harness)
  const required = stepAt(await signIn(client, login), 'MFA_REQUIRED')
  return { client, required, factor: factorOf<Factor>(required.factors, factorType) }
}

describe.each(ROWS)('$factorType', ({ factorType, login, wrong, right, challenge, approve, amr }) => {
  test('a wrong proof keeps the step usable; the right one opens a session', async () => {
    const { client, required, factor } = await begin(login, factorType)
    let step: SignInStep = required
    if (challenge) step = stepAt(await required.verify(factor), 'MFA_CHALLENGE', challenge)
    const verify = (proof: Proof) =>
      step.status === 'MFA_CHALLENGE'
        ? stepAt(step, 'MFA_CHALLENGE', 'verify').verify(proof)
        : required.verify(factor, proof)

    if (wrong) await expect(verify(wrong)).rejects.toMatchObject({ status: 403, code: 'E0000068' })
    let done: SignInStep
    if (right) done = await verify(right(login, step))
    else {
      await approve?.(client, login, step)
      if (challenge === 'redirect') done = await client.gatehouse.signIn({ stateToken: handleOf(step) })
      else done = await lastOf(stepAt(step, 'MFA_CHALLENGE', 'poll').poll(FAST))
    }
    expect(done).toMatchObject({ status: 'SUCCESS', unlocked: false, redirectUrl: undefined })
    expect(await client.gatehouse.session()).toMatchObject({ login: `${login}@example.test`, amr })
    await client.gatehouse.signOut()
    expect(await client.gatehouse.session()).toBeUndefined()
  })

  if (challenge)
    test('previous leads back to the choice of factors, and cancel ends the sign-in', async () => {
      const { required, factor } = await begin(login, factorType)
      const challenged = stepAt(await required.verify(factor), 'MFA_CHALLENGE')
      const back = stepAt((await challenged.previous?.()) ?? challenged, 'MFA_REQUIRED')
      expect(back.factors).toHaveLength(required.factors.length)
      await back.cancel()
      await expect(back.verify(factor)).rejects.toMatchObject({ status: 401, code: 'E0000011' })
    })
})

function handleOf({ answer }: SignInStep): string {
  return 'stateToken' in answer && answer.stateToken ? answer.stateToken : 'no handle'
}

test('resend sends another code, which is the only right one', async () => {
  const login = 'sana.sms'
  const { required, factor } = await begin(login, 'sms')
  const challenged = stepAt(await required.verify(factor), 'MFA_CHALLENGE', 'verify')
  const first = sentCode(login)
  const resent = stepAt((await challenged.resend?.()) ?? required, 'MFA_CHALLENGE', 'verify')
  expect(sentCode(login)).not.toEqual(first)
  await expect(resent.verify(first)).rejects.toMatchObject({ code: 'E0000068' })
  expect(await resent.verify(sentCode(login))).toMatchObject({ status: 'SUCCESS' })
})

test('a push is yielded while it waits; after a rejection, verify sends another one', async () => {
  const { required, factor } = await begin('rita.reject', 'push')
  const results: (string | undefined)[] = []
  let last: SignInStep = required
  for await (const step of stepAt(await required.verify(factor), 'MFA_CHALLENGE', 'poll').poll(FAST)) {
    last = step
    results.push('result' in step ? step.result : undefined)
  }
  expect(results).toEqual(['WAITING', 'REJECTED'])
  const rejected = stepAt(last, 'MFA_CHALLENGE', 'verify')
  expect(stepAt(await rejected.verify(), 'MFA_CHALLENGE', 'poll').result).toBe('WAITING')
})

describe('several security keys', () => {
  test('challengeAllKeys challenges all of them, and either one signs in', async () => {
    const login = 'kim.twokeys'
    const { required } = await begin(login, 'webauthn')
    const challenged = stepAt((await required.challengeAllKeys?.()) ?? required, 'MFA_CHALLENGE', 'verify')
    const ids = challenged.answer._embedded.factors?.map(({ profile }) => profile?.credentialId) ?? []
    expect(new Set(ids).size).toBe(2)
    const proof = signed(login, challengeOf(challenged), ids[1])
    expect(await challenged.verify(proof)).toMatchObject({ status: 'SUCCESS' })
  })
})

test('rememberDevice of a push also applies to its polls', async () => {
  const { client, required, factor } = await begin('priya.nair', 'push')
  const challenged = await required.verify(factor, undefined, { rememberDevice: true })
  harness.sandbox.answerPush('priya.nair', 'approve')
  await lastOf(stepAt(challenged, 'MFA_CHALLENGE', 'poll').poll(FAST))
  expect((await signIn(client, 'priya.nair')).status).toBe('SUCCESS')
})

test('a factor that the answer does not offer is refused without a request', async () => {
  const { required, factor } = await begin('otto.token', 'token:software:totp')
  harness.clearUpstreamCalls()
  const foreign = { ...factor, _links: {} } as Factor
  await expect(required.verify(foreign)).rejects.toMatchObject({ name: 'GatehouseError', code: 'E0000079' })
  expect(harness.upstreamCalls()).toEqual([])
})

describe('a step-up', () => {
  const arrive = async (client: NodeClient, login?: string) => {
    const page = `${harness.gatehouse.url}/signin/step-up?stateToken=`
    const { stateToken } = onClassicEngine(harness).sandbox.startStepUp('payroll', login, page)
    const { location } = await navigate(client.browser, page + stateToken)
    return new URL(location ?? '').searchParams.get('stateToken') ?? ''
  }

  test('asks for the password first, and then leads back to the app', async () => {
    const client = await openNodeClient(harness)
    const stateToken = await arrive(client)
    const first = stepAt(await client.gatehouse.signIn({ stateToken }), 'UNAUTHENTICATED')
    const login = { username: 'tomas.berg@example.test', password: 'Demo-Password-1' }
    const required = stepAt(await first.signIn(login), 'MFA_REQUIRED')
    const factor = factorOf<Factor>(required.factors, 'token:software:totp')
    const done = await required.verify(factor, { passCode: harness.sandbox.totpCode('tomas.berg') })
    expect(stepAt(done, 'SUCCESS').redirectUrl).toMatch(`${harness.gatehouse.url}/login/step-up/redirect?`)
  })
})
