import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Enrollment, Factor, SignInStep } from 'gatehouse-client'
import { useFixture } from '../support/fixture.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { PASSWORD, startHarness } from '../support/harness.ts'
import { answerAtProvider } from '../support/identity-provider.ts'
import { factorOf, lastOf, type NodeClient, openNodeClient, signIn, stepAt } from '../support/node-client.ts'

/** Enrollment, passwords, recovery and activation through gatehouse-client in Node. */

const FAST = { everyMs: 1 }
const ERIN = 'erin.enroll'
const PHONE = '+15550107777'
const NEW_PASSWORD = 'Another-Password-2'

const harness = useFixture({
  start: () =>
    startHarness({
      tunables: (tunables) => ({
        ...generousLimits(tunables),
        recovery: { ...tunables.recovery, recoveryAnswerMs: 1, resendAfterMs: 1 },
      }),
      sandboxConfig: (config) => ({
        ...config,
        signInPage: 'https://portal.example.test/back',
        limits: { ...config.limits, wrongCodes: 1000, resendSeconds: 0, pushPolls: 2 },
      }),
    }),
  stop: ({ stop }) => stop(),
})
beforeEach(() => harness.sandbox.reset())

const open = () => openNodeClient(harness)
const mailOf = (login: string, purpose?: 'recovery' | 'factor-activation' | 'push-activation') =>
  harness.sandbox.outbox.latest(`${login}@example.test`, purpose)
const activationCode = (login: string) => ({ passCode: mailOf(login, 'factor-activation')?.code ?? 'none' })

/** Skips the other factors that could be set up. */
async function expectSession(client: NodeClient, step: SignInStep, login: string) {
  const last = step.status === 'MFA_ENROLL' ? await step.skip?.() : step
  expect(last).toMatchObject({ status: 'SUCCESS', unlocked: false })
  expect(await client.gatehouse.session()).toMatchObject({ login: `${login}@example.test` })
}

async function beginEnrollment(login: string, factorType: string, provider?: string) {
  const client = await open()
  const enroll = stepAt(await signIn(client, login), 'MFA_ENROLL')
  return { client, enroll, factor: factorOf<Factor>(enroll.factors, factorType, provider) }
}

describe('a factor that is enrolled in one step', () => {
  const toy = { question: 'favorite_toy', answer: 'a spinning top' }
  test.each<[string, Enrollment, () => Enrollment]>([
    ['question', { profile: { ...toy, answer: 'top' } }, () => ({ profile: toy })],
    [
      'token:hardware',
      { passCode: '000000' },
      () => ({ profile: { credentialId: 'HW-77' }, passCode: harness.sandbox.tokenCode('HW-77') }),
    ],
  ])('%s: wrong details keep the step usable', async (factorType, wrong, right) => {
    const { client, enroll, factor } = await beginEnrollment(ERIN, factorType)
    await expect(enroll.enroll(factor, wrong)).rejects.toMatchObject({ name: 'GatehouseError' })
    await expectSession(client, await enroll.enroll(factor, right()), ERIN)
  })

  test('the security questions are listed', async () => {
    const { enroll, factor } = await beginEnrollment(ERIN, 'question')
    expect(await enroll.questions(factor)).toContainEqual({
      question: 'favorite_toy',
      questionText: 'What is your favourite toy?',
    })
    const phone = factorOf<Factor>(enroll.factors, 'sms')
    await expect(enroll.questions(phone)).rejects.toMatchObject({ code: 'E0000079' })
  })
})

describe('a factor that is activated with a code', () => {
  test.each<[string, string, Enrollment | undefined]>([
    ['sms', 'OKTA', { profile: { phoneNumber: PHONE } }],
    ['token:software:totp', 'GOOGLE', undefined],
  ])('%s of %s: a wrong code keeps the step usable', async (factorType, provider, details) => {
    const { client, enroll, factor } = await beginEnrollment(ERIN, factorType, provider)
    const activate = stepAt(await enroll.enroll(factor, details), 'MFA_ENROLL_ACTIVATE', 'activate')
    await expect(activate.activate({ passCode: '000000' })).rejects.toMatchObject({ code: 'E0000068' })
    expect(activate.qrCode === undefined).toBe(details !== undefined)
    const image = await client.browser.get(activate.qrCode ?? '/api/v1/sessions/me')
    expect(image.headers.get('content-type')).toMatch(details ? /json/ : 'image/png')
    const right = details ? activationCode(ERIN) : { passCode: harness.sandbox.totpCode(ERIN) }
    await expectSession(client, await activate.activate(right), ERIN)
  })
})

test('a security key is enrolled with what the key answers', async () => {
  const { client, enroll, factor } = await beginEnrollment(ERIN, 'webauthn')
  const activate = stepAt(await enroll.enroll(factor), 'MFA_ENROLL_ACTIVATE', 'activate')
  const own = activate.factor
  const challenge = own?.factorType === 'webauthn' ? own._embedded?.activation?.challenge : undefined
  const key = harness.sandbox.authenticator(ERIN)
  const { clientData, attestation } = key.registerWebauthn(challenge ?? 'none', harness.gatehouse.url)
  await expectSession(client, await activate.activate({ clientData, attestation }), ERIN)
})

describe('a push app', () => {
  const start = async () => {
    const { client, enroll, factor } = await beginEnrollment(ERIN, 'push')
    return { client, step: stepAt(await enroll.enroll(factor), 'MFA_ENROLL_ACTIVATE', 'poll') }
  }

  test('is polled until the QR code is scanned', async () => {
    const { client, step } = await start()
    const image = await client.browser.get(step.qrCode ?? '')
    await harness.sandbox.phone.scan(ERIN, image.bytes)
    await expectSession(client, await lastOf(step.poll(FAST)), ERIN)
  })

  test('shows a new QR code after a timeout', async () => {
    const { client, step } = await start()
    const late = stepAt(await lastOf(step.poll(FAST)), 'MFA_ENROLL_ACTIVATE')
    expect(late.result).toBe('TIMEOUT')
    const again = stepAt((await late.restart?.()) ?? late, 'MFA_ENROLL_ACTIVATE', 'poll')
    expect(again.result).toBe('WAITING')
    harness.sandbox.answerPush(ERIN, 'approve')
    await expectSession(client, await lastOf(again.poll(FAST)), ERIN)
  })

  test('is set up with a link sent by text message', async () => {
    const { client, step } = await start()
    const linked = await step.sendLink?.('sms', { profile: { phoneNumber: PHONE } })
    const sent = stepAt(linked ?? step, 'MFA_ENROLL_ACTIVATE', 'poll')
    const message = mailOf(ERIN, 'push-activation')
    expect(message?.to).toBe(PHONE)
    await fetch(message?.link ?? '')
    await expectSession(client, await lastOf(sent.poll(FAST)), ERIN)
  })
})

test('Duo is enrolled in its frame, and polled', async () => {
  const { client, enroll, factor } = await beginEnrollment('dina.duo', 'web')
  const step = stepAt(await enroll.enroll(factor), 'MFA_ENROLL_ACTIVATE', 'poll')
  expect(step.duo).toMatchObject({ host: expect.any(String), signature: expect.stringMatching(/^TX/) })
  await expect(step.duo?.complete('AUTH|wrong:APP|wrong')).rejects.toMatchObject({ code: 'E0000068' })
  await step.duo?.complete(harness.sandbox.duoResponse('dina.duo'))
  await expectSession(client, await lastOf(step.poll(FAST)), 'dina.duo')
})

test('another identity provider is enrolled by a redirect, and the sign-in resumed', async () => {
  const { client, enroll, factor } = await beginEnrollment('iris.provider', 'claims_provider')
  const step = stepAt(await enroll.enroll(factor), 'MFA_ENROLL_ACTIVATE', 'redirect')
  await answerAtProvider(harness, client.browser, step.redirectUrl, 'approve')
  const resumed = await client.gatehouse.signIn({ stateToken: step.answer.stateToken })
  await expectSession(client, resumed, 'iris.provider')
})

test('optional factors can be skipped once the required ones are set up', async () => {
  const { client, enroll, factor } = await beginEnrollment('reggie.required', 'token:software:totp')
  expect('skip' in enroll).toBe(false)
  const activate = stepAt(await enroll.enroll(factor), 'MFA_ENROLL_ACTIVATE', 'activate')
  const passCode = harness.sandbox.totpCode('reggie.required')
  const more = stepAt(await activate.activate({ passCode }), 'MFA_ENROLL')
  expect('skip' in more).toBe(true)
  await expectSession(client, more, 'reggie.required')
})

describe('passwords', () => {
  const change = { oldPassword: PASSWORD, newPassword: NEW_PASSWORD }

  test('a password that expires soon is changed, or kept', async () => {
    const client = await open()
    const warn = stepAt(await signIn(client, 'walter.warn'), 'PASSWORD_WARN')
    const wrong = { ...change, oldPassword: 'Not-The-Password-1' }
    await expect(warn.changePassword(wrong)).rejects.toMatchObject({ code: 'E0000014' })
    await expectSession(client, await warn.changePassword(change), 'walter.warn')
    harness.sandbox.reset()
    const again = stepAt(await signIn(await open(), 'walter.warn'), 'PASSWORD_WARN')
    expect((await again.skip?.())?.status).toBe('SUCCESS')
  })

  test('an expired password must be changed; causes tell why one is refused', async () => {
    const client = await open()
    const expired = stepAt(await signIn(client, 'olga.expired'), 'PASSWORD_EXPIRED')
    const refused = expired.changePassword({ ...change, newPassword: 'short' })
    await expect(refused).rejects.toMatchObject({
      code: 'E0000014',
      causes: expect.arrayContaining([expect.stringContaining('uppercase')]),
    })
    await expectSession(client, await expired.changePassword(change), 'olga.expired')
  })
})

describe('recovery', () => {
  const username = 'amelia.stone@example.test'

  test('a forgotten password by SMS, with resend and a wrong code', async () => {
    const client = await open()
    const started = await client.gatehouse.recoverPassword({ username, factorType: 'SMS' })
    const first = stepAt(started, 'RECOVERY_CHALLENGE')
    await expect(first.verify?.({ passCode: '000000' })).rejects.toMatchObject({ code: 'E0000068' })
    const challenged = stepAt((await first.resend?.()) ?? first, 'RECOVERY_CHALLENGE')
    const passCode = mailOf('amelia.stone', 'recovery')?.code ?? 'none'
    const question = stepAt((await challenged.verify?.({ passCode })) ?? challenged, 'RECOVERY')
    await expect(question.answerQuestion('wrong')).rejects.toMatchObject({ code: 'E0000087' })
    const reset = stepAt(await question.answerQuestion('gatehouse'), 'PASSWORD_RESET')
    await expectSession(client, await reset.resetPassword({ newPassword: NEW_PASSWORD }), 'amelia.stone')
  })

  test('a forgotten password by email: the link has a token', async () => {
    const { gatehouse } = await open()
    const started = await gatehouse.recoverPassword({ username, factorType: 'EMAIL' })
    const sent = stepAt(started, 'RECOVERY_CHALLENGE')
    expect('verify' in sent).toBe(false)
    const token = harness.sandbox.recoveryToken('amelia.stone')
    const question = stepAt(await gatehouse.redeemRecoveryToken(token), 'RECOVERY')
    const reset = stepAt(await question.answerQuestion('gatehouse'), 'PASSWORD_RESET')
    expect((await reset.resetPassword({ newPassword: NEW_PASSWORD })).status).toBe('SUCCESS')
    const again = gatehouse.redeemRecoveryToken(token)
    await expect(again).rejects.toMatchObject({ status: 401, code: 'E0000011' })
  })

  test('LOCKED_OUT offers to unlock the account, which opens no session', async () => {
    const client = await open()
    const locked = stepAt(await signIn(client, 'luis.locked'), 'LOCKED_OUT')
    const request = { username: 'luis.locked@example.test', factorType: 'EMAIL' } as const
    expect((await locked.unlock?.(request))?.status).toBe('RECOVERY_CHALLENGE')
    const started = await client.gatehouse.unlockAccount(request)
    expect(started.status).toBe('RECOVERY_CHALLENGE')
    const token = harness.sandbox.recoveryToken('luis.locked', 'UNLOCK')
    const step = await client.gatehouse.redeemRecoveryToken(token)
    const done = step.status === 'RECOVERY' ? await step.answerQuestion('gatehouse') : step
    expect(done).toMatchObject({ status: 'SUCCESS', unlocked: true })
    expect(await client.gatehouse.session()).toBeUndefined()
  })
})

test('an activation token leads a user without a password to a new one', async () => {
  const client = await open()
  const token = harness.sandbox.activationToken('aida.nopassword')
  const reset = stepAt(await client.gatehouse.signIn({ token }), 'PASSWORD_RESET')
  await expectSession(client, await reset.resetPassword({ newPassword: NEW_PASSWORD }), 'aida.nopassword')
})

describe('the session', () => {
  test('groups, directory, refresh and the sessions of other browsers', async () => {
    const here = await open()
    const there = await open()
    for (const client of [here, there]) await signIn(client, 'amelia.stone')
    const session = await here.gatehouse.session()
    expect(await here.gatehouse.refresh()).toMatchObject({ id: session?.id })
    expect(await here.gatehouse.groups()).toMatchObject({ groups: expect.any(Array) })
    const page = await here.gatehouse.directory({ limit: 2, sort: 'name' })
    expect(page.list).toHaveLength(2)
    const cursor = page.nextCursor ?? ''
    expect((await here.gatehouse.directory({ limit: 2, sort: 'name', cursor })).list).not.toEqual(page.list)

    const other = (await here.gatehouse.ownSessions()).find(({ current }) => !current)
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
})
