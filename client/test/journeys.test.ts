import { beforeEach, describe, expect, test } from '@jest/globals'
import {
  createGatehouse,
  type Factor,
  type GatehouseError,
  type SessionEnd,
  type SignInStep,
} from 'gatehouse-client'
import { describeError } from 'gatehouse-client/messages'
import { useFixture } from 'gatehouse-test-support/fixture'
import { generousLimits } from 'gatehouse-test-support/generous-limits'
import { PASSWORD, startHarness } from 'gatehouse-test-support/harness'
import {
  factorOf,
  lastOf,
  type NodeClient,
  openNodeClient,
  signIn,
  stepAt,
} from 'gatehouse-test-support/node-client'

/** gatehouse-client in Node: what the pages of demo/test, which use it too, do not show. */

const FAST = { everyMs: 1 }
const ERIN = 'erin.enroll'
const PHONE = '+15550107777'

const harness = useFixture({
  start: () =>
    startHarness({
      tunables: (tunables) => ({
        ...generousLimits(tunables),
        recovery: { ...tunables.recovery, recoveryAnswerMs: 1, resendAfterMs: 1 },
      }),
      sandboxConfig: (config) => ({
        ...config,
        limits: { ...config.limits, wrongCodes: 1000, resendSeconds: 0, pushPolls: 2 },
      }),
    }),
  stop: ({ stop }) => stop(),
})
beforeEach(() => harness.sandbox.reset())

const open = () => openNodeClient(harness)
const messageTo = (login: string) => harness.sandbox.outbox.latest(`${login}@example.test`)
const sentCode = (login: string) => ({ passCode: messageTo(login)?.code ?? 'none was sent' })

async function begin(login: string, factorType: string) {
  const client = await open()
  const required = stepAt(await signIn(client, login), 'MFA_REQUIRED')
  return { client, required, factor: factorOf<Factor>(required.factors, factorType) }
}

/** Skips the other factors that could be set up. */
async function expectSession(client: NodeClient, step: SignInStep, login: string) {
  const last = step.status === 'MFA_ENROLL' ? await step.skip?.() : step
  expect(last).toMatchObject({ status: 'SUCCESS', unlocked: false, redirectUrl: undefined })
  expect(await client.gatehouse.session()).toMatchObject({ login: `${login}@example.test` })
}

describe('a challenge', () => {
  const login = 'sana.sms'
  const challenge = async () => {
    const { required, factor, ...rest } = await begin(login, 'sms')
    const challenged = stepAt(await required.verify(factor), 'MFA_CHALLENGE', 'verify')
    return { required, factor, challenged, ...rest }
  }

  test('resend sends another code, which is the only right one; a wrong one keeps the step usable', async () => {
    const { client, required, challenged } = await challenge()
    const first = sentCode(login)
    const resent = stepAt((await challenged.resend?.()) ?? required, 'MFA_CHALLENGE', 'verify')
    expect(sentCode(login)).not.toEqual(first)
    await expect(resent.verify(first)).rejects.toMatchObject({ status: 403, code: 'E0000068' })
    await expectSession(client, await resent.verify(sentCode(login)), login)
  })

  test('previous leads back to the choice of factors, and cancel ends the sign-in', async () => {
    const { required, factor, challenged } = await challenge()
    const back = stepAt((await challenged.previous?.()) ?? challenged, 'MFA_REQUIRED')
    expect(back.factors).toHaveLength(required.factors.length)
    await back.cancel()
    await expect(back.verify(factor)).rejects.toMatchObject({ status: 401, code: 'E0000011' })
  })
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

test('challengeAllKeys challenges all security keys, and either one signs in', async () => {
  const login = 'kim.twokeys'
  const { client, required } = await begin(login, 'webauthn')
  const challenged = stepAt((await required.challengeAllKeys?.()) ?? required, 'MFA_CHALLENGE', 'verify')
  const { factors, challenge } = challenged.answer._embedded
  const ids = factors?.map(({ profile }) => profile?.credentialId) ?? []
  expect(new Set(ids).size).toBe(2)
  const key = harness.sandbox.authenticator(login, ids[1])
  const proof = key.signWebauthn(challenge?.challenge ?? 'none', harness.gatehouse.url)
  await expectSession(client, await challenged.verify(proof), login)
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

describe('an enrollment', () => {
  const beginEnrollment = async (factorType: string) => {
    const client = await open()
    const enroll = stepAt(await signIn(client, ERIN), 'MFA_ENROLL')
    return { client, enroll, factor: factorOf<Factor>(enroll.factors, factorType) }
  }
  const startPushApp = async () => {
    const { client, enroll, factor } = await beginEnrollment('push')
    return { client, step: stepAt(await enroll.enroll(factor), 'MFA_ENROLL_ACTIVATE', 'poll') }
  }

  test('the security questions are listed', async () => {
    const { enroll, factor } = await beginEnrollment('question')
    expect(await enroll.questions(factor)).toContainEqual({
      question: 'favorite_toy',
      questionText: 'What is your favourite toy?',
    })
    const phone = factorOf<Factor>(enroll.factors, 'sms')
    await expect(enroll.questions(phone)).rejects.toMatchObject({ code: 'E0000079' })
  })

  test('a push app shows a new QR code after a timeout, and is polled until that is scanned', async () => {
    const { client, step } = await startPushApp()
    const late = stepAt(await lastOf(step.poll(FAST)), 'MFA_ENROLL_ACTIVATE')
    expect(late.result).toBe('TIMEOUT')
    const again = stepAt((await late.restart?.()) ?? late, 'MFA_ENROLL_ACTIVATE', 'poll')
    expect(again.result).toBe('WAITING')
    const image = await client.browser.get(again.qrCode ?? '')
    await harness.sandbox.phone.scan(ERIN, image.bytes)
    await expectSession(client, await lastOf(again.poll(FAST)), ERIN)
  })

  test('a push app is set up with a link sent by text message', async () => {
    const { client, step } = await startPushApp()
    const linked = await step.sendLink?.('sms', { profile: { phoneNumber: PHONE } })
    const sent = stepAt(linked ?? step, 'MFA_ENROLL_ACTIVATE', 'poll')
    expect(messageTo(ERIN)?.to).toBe(PHONE)
    await fetch(messageTo(ERIN)?.link ?? '')
    await expectSession(client, await lastOf(sent.poll(FAST)), ERIN)
  })
})

test('a forgotten password by SMS, with resend and a wrong code', async () => {
  const client = await open()
  const username = 'amelia.stone@example.test'
  const started = await client.gatehouse.recoverPassword({ username, factorType: 'SMS' })
  const first = stepAt(started, 'RECOVERY_CHALLENGE')
  await expect(first.verify?.({ passCode: '000000' })).rejects.toMatchObject({ code: 'E0000068' })
  const challenged = stepAt((await first.resend?.()) ?? first, 'RECOVERY_CHALLENGE')
  const question = stepAt((await challenged.verify?.(sentCode('amelia.stone'))) ?? challenged, 'RECOVERY')
  await expect(question.answerQuestion('wrong')).rejects.toMatchObject({ code: 'E0000087' })
  const reset = stepAt(await question.answerQuestion('gatehouse'), 'PASSWORD_RESET')
  const done = await reset.resetPassword({ newPassword: 'Another-Password-2' })
  await expectSession(client, done, 'amelia.stone')
})

test.each([
  [{ multiOptionalFactorEnroll: true }, 'MFA_ENROLL'],
  [undefined, 'SUCCESS'],
] as const)('after a recovery with the options %j, the last step is %s', async (options, status) => {
  const { gatehouse } = await open()
  const token = harness.sandbox.recoveryToken('tomas.berg')
  const question = stepAt(await gatehouse.redeemRecoveryToken(token, options), 'RECOVERY')
  const reset = stepAt(await question.answerQuestion('gatehouse'), 'PASSWORD_RESET')
  const required = await reset.resetPassword({ newPassword: 'Another-Password-2' })
  const { factors, verify } = stepAt(required, 'MFA_REQUIRED')
  const passCode = harness.sandbox.totpCode('tomas.berg')
  expect((await verify(factorOf<Factor>(factors, 'token:software:totp'), { passCode })).status).toBe(status)
})

test.each(['E0000105', 'E0000110', 'E0000006'] as const)(
  'a used link, refused with %s, has the message of one (R7), and works until the password is set (R6)',
  async (usedLink) => {
    harness.sandbox.settings.usedLink = usedLink
    const { gatehouse } = await open()
    const token = harness.sandbox.recoveryToken('mila.nophone')
    await gatehouse.redeemRecoveryToken(token)
    const step = stepAt(await gatehouse.redeemRecoveryToken(token), 'PASSWORD_RESET')
    await step.resetPassword({ newPassword: 'Another-Password-2' })
    const { gatehouse: other } = await open()
    const error = await other.redeemRecoveryToken(token).catch((refused: unknown) => refused)
    expect(error).toMatchObject({ status: 403, code: usedLink, path: '/api/v1/authn/recovery/token' })
    expect(describeError(error as GatehouseError, 'en')).toMatchObject({
      key: 'linkExpired',
      action: 'restart',
    })
  },
)

/** R12: how long to wait, and what the page says. */
test.each([
  ['E0000118', 'emma.mail', 'email', 429, 5, 'emailSent'],
  ['E0000109', 'sana.sms', 'sms', 429, 30, 'smsSent'],
  ['E0000133', 'carl.call', 'call', 429, 30, 'callMade'],
  ['E0000146', 'sana.sms', 'sms', 429, 86_400, 'messagesUsedUp'],
  ['E0000147', 'carl.call', 'call', 429, 86_400, 'messagesUsedUp'],
  ['E0000186', 'sana.sms', 'sms', 429, 86_400, 'messagesUsedUp'],
  ['E0000150', 'sana.sms', 'sms', 403, 60, 'tooManyMessages'],
  ['E0000151', 'carl.call', 'call', 403, 60, 'tooManyMessages'],
  ['E0000204', 'sana.sms', 'sms', 429, 60, 'tooManyMessages'],
  ['E0000205', 'carl.call', 'call', 429, 60, 'tooManyMessages'],
] as const)(
  'the limit %s on messages: %s has to wait',
  async (sendLimit, login, factorType, status, waitS, key) => {
    const { required, factor } = await begin(login, factorType)
    harness.sandbox.settings.sendLimit = sendLimit
    const error = await required.verify(factor).catch((refused: unknown) => refused)
    expect(error).toMatchObject({ status, code: sendLimit, retryAfterSeconds: waitS })
    expect(describeError(error as GatehouseError, 'en').key).toBe(key)
  },
)

test('the session: groups, directory, refresh and the sessions of other browsers', async () => {
  const here = await open()
  const there = await open()
  for (const client of [here, there]) await signIn(client, 'amelia.stone')
  const session = await here.gatehouse.session()
  expect(session?.deviceBound).toBe(false)
  expect(await here.gatehouse.refresh()).toMatchObject({ id: session?.id })
  expect(await here.gatehouse.groups()).toMatchObject({ groups: expect.any(Array) })
  const page = await here.gatehouse.directory({ limit: 2, sort: 'name' })
  expect(page.list).toHaveLength(2)
  const cursor = page.nextCursor ?? ''
  expect((await here.gatehouse.directory({ limit: 2, sort: 'name', cursor })).list).not.toEqual(page.list)

  const own = await here.gatehouse.ownSessions()
  expect(new Set(own.map(({ deviceBound }) => deviceBound))).toEqual(new Set([false]))
  const other = own.find(({ current }) => !current)
  await here.gatehouse.endSession(other?.id ?? '')
  expect(await there.gatehouse.session()).toBeUndefined()
  await signIn(there, 'amelia.stone')
  await here.gatehouse.endOtherSessions()
  expect(await here.gatehouse.ownSessions()).toMatchObject([{ current: true }])
  await here.gatehouse.signOut()
  await expect(here.gatehouse.groups()).rejects.toMatchObject({ status: 401, code: 'E0000005' })
  await expect(here.gatehouse.refresh()).rejects.toMatchObject({ status: 404 })
  await here.gatehouse.signOut() // there is none: no error
})

// two tabs of a browser, as the README begins: neither asks for the session after its sign-in
test('after SUCCESS, each call names its session: never the data of a user who signed in in another tab', async () => {
  const tab = await open()
  const otherTab = createGatehouse({ baseUrl: harness.gatehouse.url, cookieJar: tab.browser.jar })
  const ended: SessionEnd[] = []
  tab.gatehouse.onSessionEnd((reason) => ended.push(reason))
  const { session } = stepAt(await signIn(tab, 'amelia.stone'), 'SUCCESS')
  expect(await tab.gatehouse.session()).toEqual(session)

  const username = 'mila.nophone@example.test'
  const { session: other } = stepAt(await otherTab.signIn({ username, password: PASSWORD }), 'SUCCESS')
  expect([session?.login, other?.login]).toEqual(['amelia.stone@example.test', username])
  await expect(tab.gatehouse.groups()).rejects.toMatchObject({ status: 409 })
  expect(ended).toEqual(['replaced'])
  // nor afterwards, until the tab asks for the session
  const { groups, ownSessions, endOtherSessions, signOut } = tab.gatehouse
  for (const call of [groups, ownSessions, endOtherSessions, signOut])
    await expect(call()).rejects.toMatchObject({ status: 409 })
  await expect(otherTab.groups()).rejects.toMatchObject({ status: 404, code: 'pam_user_unknown' })
})
