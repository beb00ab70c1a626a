import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  asTransaction,
  type LibraryFactor,
  openLibrary,
  signIn,
  step,
  type Transaction,
} from '../support/browser-library.ts'
import { AMELIA, type Harness, INES, OLGA, PASSWORD, PRIYA, startHarness, TOMAS } from '../support/harness.ts'
import { answerAtProvider } from '../support/identity-provider.ts'
import { valueAt } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * The further classic flows of Okta's browser library (`@okta/okta-auth-js`); `okta-auth-js.test.ts` has the usual
 * ones.
 */

const NEW_PASSWORD = 'Another-Password-2'
const KIM = 'kim.twokeys@example.test'
const [QUENTIN, SANA, CARL, EMMA, YUKI, ERIN, LUIS, ANNA, AIDA] = [
  'quentin.query',
  'sana.sms',
  'carl.call',
  'emma.mail',
  'yuki.hardware',
  'erin.enroll',
  'luis.locked',
  'anna.activate',
  'aida.nopassword',
].map((name) => `${name}@example.test`) as [
  string,
  string,
  string,
  string,
  string,
  string,
  string,
  string,
  string,
]

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({
    tunables: (all) => ({ ...all, recovery: { ...all.recovery, recoveryAnswerMs: 1, resendAfterMs: 1 } }),
  })
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

async function library() {
  const opened = openLibrary(harness.gatehouse.url)
  await opened.browser.get('/api/v1/sessions/me')
  return opened
}

function factorOf({ factors = [] }: Transaction, factorType: string, provider?: string): LibraryFactor {
  const found = factors.find(
    (one) => one.factorType === factorType && (provider === undefined || one.provider === provider),
  )
  if (found === undefined) throw new Error(`no ${factorType} is offered`)
  return found
}

const codeSentTo = (login: string) => {
  const code = harness.sandbox.outbox.latest(login)?.code
  if (code === undefined) throw new Error(`nothing was sent to ${login}`)
  return code
}

describe('factors', () => {
  test.each([
    ['question', QUENTIN, () => ({ answer: 'lighthouse' })],
    ['token:hardware', YUKI, () => ({ passCode: harness.sandbox.tokenCode('HW-0001') })],
  ])('%s: verified in one step', async (factorType, login, proof) => {
    const { client } = await library()
    const asked = await signIn(client, login)
    const done = await step(factorOf(asked, factorType).verify, 'verify')(proof())
    expect(done.status).toBe('SUCCESS')
  })

  test.each([
    ['sms', SANA],
    ['call', CARL],
    ['email', EMMA],
  ])('%s: sent, resent, verified', async (factorType, login) => {
    let now = Date.now()
    const other = await startHarness({ sandboxNow: () => now })
    try {
      const { client, browser } = openLibrary(other.gatehouse.url)
      await browser.get('/api/v1/sessions/me')
      const asked = await signIn(client, login)
      const challenged = await step(factorOf(asked, factorType).verify, 'verify')()
      expect(challenged.status).toBe('MFA_CHALLENGE')
      const first = other.sandbox.outbox.messages.length
      now += 31_000
      const again = await (challenged.resend ?? fail('resend'))(factorType)
      expect(again.status).toBe('MFA_CHALLENGE')
      expect(other.sandbox.outbox.messages.length).toBe(first + 1)
      const passCode = other.sandbox.outbox.latest(login)?.code
      expect((await step(again.verify, 'verify')({ passCode, rememberDevice: true })).status).toBe('SUCCESS')
    } finally {
      await other.stop()
    }
  })

  test.each([
    ['webauthn', 'wanda.key@example.test'],
    ['u2f', 'uwe.key@example.test'],
  ])('%s: challenged, and answered with the key', async (factorType, login) => {
    const { client } = await library()
    const challenged = await step(factorOf(await signIn(client, login), factorType).verify, 'verify')()
    expect(challenged.status).toBe('MFA_CHALLENGE')
    const asked = valueAt(challenged.data, '_embedded.factor._embedded.challenge')
    const key = harness.sandbox.authenticator(login)
    const origin = harness.gatehouse.url
    const signed =
      factorType === 'webauthn'
        ? key.signWebauthn(String(valueAt(asked, 'challenge')), origin)
        : key.signU2f(String(valueAt(asked, 'nonce')), origin)
    expect((await step(challenged.verify, 'verify')(signed)).status).toBe('SUCCESS')
  })

  test('two security keys: one challenge for the factor type, answered with either key', async () => {
    const { client } = await library()
    const { factorTypes } = (await signIn(client, KIM)) as Transaction & { factorTypes?: LibraryFactor[] }
    const challenged = await step(factorTypes?.[0]?.verify, 'verify')()
    expect(challenged.data).toMatchObject({ challengeType: 'FACTOR_TYPE' })
    const [, second] = harness.sandbox.user(KIM).factors
    const key = harness.sandbox.authenticator(KIM, String(second?.profile?.credentialId))
    const signed = key.signWebauthn(
      String(valueAt(challenged.data, '_embedded.challenge.challenge')),
      harness.gatehouse.url,
    )
    expect((await step(challenged.verify, 'verify')(signed)).status).toBe('SUCCESS')
  })

  test('another identity provider: redirected, approved there, and resumed', async () => {
    const { client, browser } = await library()
    const challenged = await step(
      factorOf(await signIn(client, 'cleo.claims'), 'claims_provider').verify,
      'verify',
    )()
    expect(challenged.status).toBe('MFA_CHALLENGE')
    const link = String(valueAt(challenged.data, '_links.next.href'))
    await answerAtProvider(harness, browser, link, 'approve')
    expect(asTransaction(await client.tx.resume()).status).toBe('SUCCESS')
  })

  test.each([
    ['RSA', 'RSA-0001'],
    ['SYMANTEC', 'VIP-0001'],
  ])('an enterprise token by %s: verified in one step', async (provider, serial) => {
    const { client } = await library()
    const asked = await signIn(client, 'rosa.enterprise@example.test')
    const verify = step(factorOf(asked, 'token', provider).verify, 'verify')
    expect((await verify({ passCode: harness.sandbox.tokenCode(serial) })).status).toBe('SUCCESS')
  })

  test('previous leaves a challenge, and another factor is verified', async () => {
    const { client } = await library()
    const mfaRequired = await signIn(client, PRIYA)
    const waiting = await step(factorOf(mfaRequired, 'push').verify, 'verify')({ autoPush: true })
    const back = await step(waiting.prev, 'prev')()
    expect(back.status).toBe('MFA_REQUIRED')
    const code = factorOf(back, 'token:software:totp').verify
    expect((await step(code, 'verify')({ passCode: harness.sandbox.totpCode(PRIYA) })).status).toBe('SUCCESS')
  })

  test('a code first, then the expired password', async () => {
    const { client } = await library()
    const mfaRequired = await signIn(client, INES)
    const expired = await step(
      factorOf(mfaRequired, 'token:software:totp').verify,
      'verify',
    )({ passCode: harness.sandbox.totpCode(INES) })
    expect(expired.status).toBe('PASSWORD_EXPIRED')
    const done = await step(
      expired.changePassword,
      'changePassword',
    )({ oldPassword: PASSWORD, newPassword: NEW_PASSWORD })
    expect(done.status).toBe('SUCCESS')
  })
})

describe('enrollment', () => {
  test('a security question from the list that the library fetches', async () => {
    const { client } = await library()
    const asked = await signIn(client, ERIN)
    expect(asked.status).toBe('MFA_ENROLL')
    const question = factorOf(asked, 'question')
    const list = (await question.questions?.()) as { question: string }[]
    const done = await step(
      question.enroll,
      'enroll',
    )({ profile: { question: list[0]?.question, answer: 'lighthouse' } })
    expect(done.status).toBe('SUCCESS')
  })

  test('an authenticator app', async () => {
    const { client } = await library()
    const asked = await signIn(client, ERIN)
    const begun = await step(factorOf(asked, 'token:software:totp', 'GOOGLE').enroll, 'enroll')()
    expect(begun.status).toBe('MFA_ENROLL_ACTIVATE')
    const back = await step(begun.prev, 'prev')()
    expect(back.status).toBe('MFA_ENROLL')
    const again = await step(factorOf(back, 'token:software:totp', 'GOOGLE').enroll, 'enroll')()
    const done = await step(again.activate, 'activate')({ passCode: harness.sandbox.totpCode(ERIN) })
    expect(done.status).toBe('SUCCESS')
  })

  test('a phone for text messages, with updatePhone', async () => {
    const { client } = await library()
    const asked = await signIn(client, ERIN)
    const begun = await step(
      factorOf(asked, 'sms').enroll,
      'enroll',
    )({ profile: { phoneNumber: '+15550100098', updatePhone: true } })
    const done = await step(begun.activate, 'activate')({ passCode: codeSentTo(ERIN) })
    expect(done.status).toBe('SUCCESS')
    expect(harness.upstreamCalls().map(({ query }) => query.updatePhone)).toContain('true')
  })

  test('a push app, polled until it is set up', async () => {
    const { client, browser } = await library()
    const asked = await signIn(client, ERIN)
    const begun = await step(factorOf(asked, 'push').enroll, 'enroll')()
    expect(begun.status).toBe('MFA_ENROLL_ACTIVATE')
    expect(begun.factorResult).toBe('WAITING')
    const done = step(begun.poll, 'poll')({ delay: 10 })
    await until(() => harness.upstreamCalls().filter(({ path }) => path.endsWith('/poll')).length > 1)
    harness.sandbox.answerPush(ERIN, 'approve')
    expect((await done).status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(ERIN)
  })
})

describe('recovery', () => {
  test('forgotPassword without a factor type is refused, and nothing is sent upstream', async () => {
    const { client } = await library()
    harness.clearUpstreamCalls()
    await expect(client.forgotPassword({ username: AMELIA })).rejects.toMatchObject({
      errorCode: 'E0000001',
      errorCauses: [{ errorSummary: expect.stringContaining('factorType') }],
    })
    expect(harness.upstreamCalls()).toEqual([])
  })

  test('forgotPassword by email, then verifyRecoveryToken with the token of that email', async () => {
    const { client, browser } = await library()
    const sent = asTransaction(await client.forgotPassword({ username: AMELIA, factorType: 'EMAIL' }))
    expect(sent.status).toBe('RECOVERY_CHALLENGE')
    const recoveryToken = harness.sandbox.outbox.latest(AMELIA)?.token ?? ''
    const recovery = asTransaction(await client.verifyRecoveryToken({ recoveryToken }))
    expect(recovery.status).toBe('RECOVERY')
    const reset = await step(recovery.answer, 'answer')({ answer: 'gatehouse' })
    expect(reset.status).toBe('PASSWORD_RESET')
    const done = await step(reset.resetPassword, 'resetPassword')({ newPassword: NEW_PASSWORD })
    expect(done.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(AMELIA)
  })

  test.each(['SMS', 'CALL'] as const)(
    'forgotPassword by %s: wrong code, right code, answer, new password',
    async (factorType) => {
      const { client } = await library()
      const challenged = asTransaction(await client.forgotPassword({ username: AMELIA, factorType }))
      expect(challenged.status).toBe('RECOVERY_CHALLENGE')
      const verify = step(challenged.verify, 'verify')
      await expect(verify({ passCode: '000000' })).rejects.toMatchObject({ errorCode: 'E0000068' })
      const recovery = await verify({ passCode: codeSentTo(AMELIA) })
      const reset = await step(recovery.answer, 'answer')({ answer: 'gatehouse' })
      const done = await step(reset.resetPassword, 'resetPassword')({ newPassword: NEW_PASSWORD })
      expect(done.status).toBe('SUCCESS')
    },
  )

  test('unlockAccount by text message', async () => {
    const { client, browser } = await library()
    const locked = await signIn(client, LUIS)
    expect(locked.status).toBe('LOCKED_OUT')
    const challenged = await step(locked.unlock, 'unlock')({ username: LUIS, factorType: 'SMS' })
    const recovery = await step(challenged.verify, 'verify')({ passCode: codeSentTo(LUIS) })
    const done = await step(recovery.answer, 'answer')({ answer: 'gatehouse' })
    expect(done.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).status).toBe(404) // unlocking does not sign in
    expect((await signIn(client, LUIS)).status).toBe('SUCCESS')
  })

  test('unlockAccount by email', async () => {
    const { client } = await library()
    const sent = asTransaction(await client.unlockAccount({ username: LUIS, factorType: 'EMAIL' }))
    expect(sent.status).toBe('RECOVERY_CHALLENGE')
    expect(sent.cancel).toBeInstanceOf(Function)
  })
})

describe('activation tokens', () => {
  test('sign in at once', async () => {
    const { client, browser } = await library()
    const done = asTransaction(
      await client.signIn({ token: harness.sandbox.activationToken(ANNA) } as object),
    )
    expect(done.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(ANNA)
  })

  test('ask for a password if the user has none', async () => {
    const { client } = await library()
    const reset = asTransaction(
      await client.signIn({ token: harness.sandbox.activationToken(AIDA) } as object),
    )
    expect(reset.status).toBe('PASSWORD_RESET')
    const done = await step(reset.resetPassword, 'resetPassword')({ newPassword: NEW_PASSWORD })
    expect(done.status).toBe('SUCCESS')
  })
})

describe('the transaction that the library stores', () => {
  test('exists, resumes and is introspected with the stored handle until it is cancelled', async () => {
    const { client } = await library()
    expect(client.tx.exists()).toBe(false)
    await signIn(client, TOMAS)
    expect(client.tx.exists()).toBe(true)
    expect(asTransaction(await client.tx.introspect()).status).toBe('MFA_REQUIRED')
    const resumed = asTransaction(await client.tx.resume())
    expect(resumed.status).toBe('MFA_REQUIRED')
    expect(client.tx.exists()).toBe(true)
    await step(resumed.cancel, 'cancel')()
    expect(client.tx.exists()).toBe(false)
  })

  test('is removed by the library when it has expired', async () => {
    const { client } = await library()
    await signIn(client, TOMAS)
    harness.sandbox.expireTransactions()
    await expect(client.tx.resume()).rejects.toMatchObject({ errorCode: 'E0000011' })
    expect(client.tx.exists()).toBe(false)
  })

  test('opens a session after it was resumed', async () => {
    const { client, browser } = await library()
    await signIn(client, OLGA)
    const resumed = asTransaction(await client.tx.resume())
    const done = await step(
      resumed.changePassword,
      'changePassword',
    )({ oldPassword: PASSWORD, newPassword: NEW_PASSWORD })
    expect(done.status).toBe('SUCCESS')
    expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(OLGA)
  })
})

describe('the session of the library', () => {
  test('does not exist before sign-in', async () => {
    const { client } = await library()
    expect(await client.session.exists()).toBe(false)
    expect(await client.session.get()).toEqual({ status: 'INACTIVE' })
    await expect(client.session.refresh()).rejects.toMatchObject({ errorCode: 'E0000007' })
  })

  test('get, both ways to refresh, close', async () => {
    const { client } = await library()
    await signIn(client, AMELIA)
    expect(await client.session.exists()).toBe(true)
    const session = await client.session.get()
    expect(session).toMatchObject({ status: 'ACTIVE', login: AMELIA })
    expect(await session.refresh?.()).toMatchObject({ status: 'ACTIVE', login: AMELIA })
    expect(await session.user?.()).toMatchObject({
      id: Reflect.get(session, 'userId'),
      status: 'ACTIVE',
      profile: expect.objectContaining({ login: AMELIA, firstName: expect.any(String) }),
    })
    expect(await client.session.refresh()).toMatchObject({ status: 'ACTIVE', login: AMELIA })
    await client.session.close()
    expect(await client.session.exists()).toBe(false)
    await expect(session.user?.()).rejects.toMatchObject({ errorCode: 'E0000005' })
  })
})

function fail(name: string): never {
  throw new Error(`the library offers no ${name}`)
}
