import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  asTransaction,
  type LibraryFactor,
  openLibrary,
  signIn,
  step,
  type Transaction,
} from '../support/browser-library.ts'
import { AMELIA, type Harness, startHarness, TOMAS } from '../support/harness.ts'
import { valueAt } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/**
 * The further classic flows of Okta's browser library (`@okta/okta-auth-js`); `okta-auth-js.test.ts` has the usual
 * ones.
 */

const NEW_PASSWORD = 'Another-Password-2'
const ERIN = 'erin.enroll@example.test'

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

describe('factors', () => {
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
})

describe('the session of the library', () => {
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
