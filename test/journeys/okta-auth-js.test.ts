import { describe, expect, test } from '@jest/globals'
import { asTransaction, factor, openLibrary, signIn, step } from '../support/browser-library.ts'
import { AMELIA, OLGA, PASSWORD, PRIYA, TOMAS, useHarness, WALTER } from '../support/harness.ts'
import { until } from '../support/until.ts'

/**
 * Okta's browser library (`@okta/okta-auth-js`), unchanged: its `issuer` is the broker. Its
 * requests go through a cookie jar.
 */

const NEW_PASSWORD = 'Another-Password-2'
const harness = useHarness({
  tunables: (all) => ({ ...all, recovery: { ...all.recovery, recoveryAnswerMs: 1 } }),
})

async function library() {
  const { client, browser } = openLibrary(harness.gatehouse.url)
  const loginHere = async () => (await browser.get('/api/v1/sessions/me')).json.login
  expect(await loginHere()).toBeUndefined()
  return { client, loginHere }
}

// shows, F-4.1, F-4.2, F-4.5
// sandbox shows: F-4.2
test('signs in with a password and a code, after a wrong code', async () => {
  const { client, loginHere } = await library()
  const mfaRequired = await signIn(client, TOMAS)
  expect(mfaRequired.status).toBe('MFA_REQUIRED')
  const verify = step(factor(mfaRequired, 'token:software:totp').verify, 'verify')
  await expect(verify({ passCode: '000000' })).rejects.toMatchObject({ errorCode: 'E0000068' })
  const done = await verify({ passCode: harness.sandbox.totpCode(TOMAS), rememberDevice: true })
  expect(done.status).toBe('SUCCESS')
  expect(await loginHere()).toBe(TOMAS)
})

// shows: F-4.6
// sandbox shows: F-4.6
test('polls a push until it is approved', async () => {
  const { client, loginHere } = await library()
  const waiting = await step(factor(await signIn(client, PRIYA), 'push').verify, 'verify')()
  expect(waiting.factorResult).toBe('WAITING')
  const done = step(waiting.poll, 'poll')({ delay: 10 })
  await until(() => harness.upstreamCalls().filter(({ path }) => path.endsWith('/verify')).length > 2)
  harness.sandbox.answerPush(PRIYA, 'approve')
  expect((await done).status).toBe('SUCCESS')
  expect(await loginHere()).toBe(PRIYA)
})

// shows
test('changes an expired password', async () => {
  const { client } = await library()
  const expired = await signIn(client, OLGA)
  expect(expired.status).toBe('PASSWORD_EXPIRED')
  const change = step(expired.changePassword, 'changePassword')
  expect((await change({ oldPassword: PASSWORD, newPassword: NEW_PASSWORD })).status).toBe('SUCCESS')
})

// shows, F-2.20
// sandbox shows, F-2.20
test('skips the warning of an expiring password', async () => {
  const { client } = await library()
  const warned = await signIn(client, WALTER, { options: { warnBeforePasswordExpired: true } })
  expect(warned.status).toBe('PASSWORD_WARN')
  expect((await step(warned.skip, 'skip')()).status).toBe('SUCCESS')
})

// shows
// sandbox shows
test('enrolls a security question from the list that the library fetches', async () => {
  const { client } = await library()
  const asked = await signIn(client, 'erin.enroll@example.test')
  expect(asked.status).toBe('MFA_ENROLL')
  const { questions, enroll } = factor(asked, 'question')
  const list = (await questions?.()) as { question: string }[]
  const profile = { question: list[0]?.question, answer: 'lighthouse' }
  const done = await step(enroll, 'enroll')({ profile })
  expect(done.status).toBe('SUCCESS')
})

test('forgotPassword by email, then verifyRecoveryToken with the token of that email', async () => {
  const { client, loginHere } = await library()
  const sent = asTransaction(await client.forgotPassword({ username: AMELIA, factorType: 'EMAIL' }))
  expect(sent.status).toBe('RECOVERY_CHALLENGE')
  const recoveryToken = harness.sandbox.outbox.latest(AMELIA)?.token ?? ''
  const recovery = asTransaction(await client.verifyRecoveryToken({ recoveryToken }))
  expect(recovery.status).toBe('RECOVERY')
  const reset = await step(recovery.answer, 'answer')({ answer: 'gatehouse' })
  expect(reset.status).toBe('PASSWORD_RESET')
  const done = await step(reset.resetPassword, 'resetPassword')({ newPassword: NEW_PASSWORD })
  expect(done.status).toBe('SUCCESS')
  expect(await loginHere()).toBe(AMELIA)
})

describe('the transaction that the library stores', () => {
  // shows, F-2.2, F-4.3, F-4.8
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

  // shows: F-4.8
  test('is removed by the library when it has expired', async () => {
    const { client } = await library()
    await signIn(client, TOMAS)
    harness.sandbox.expireTransactions()
    await expect(client.tx.resume()).rejects.toMatchObject({ errorCode: 'E0000011' })
    expect(client.tx.exists()).toBe(false)
  })
})

describe('the session of the library', () => {
  // shows: F-4.11
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
