import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { factor, openLibrary, signIn, step } from '../support/browser-library.ts'
import { type Harness, OLGA, PASSWORD, PRIYA, startHarness, TOMAS, WALTER } from '../support/harness.ts'
import { until } from '../support/until.ts'

/**
 * Okta's browser library (`@okta/okta-auth-js`), unchanged: its `issuer` is the broker. Its requests go through a
 * cookie jar.
 */

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())
beforeEach(() => harness.sandbox.reset())

const library = () => openLibrary(harness.gatehouse.url)

test('signs in with a password and a code, after a wrong code', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const mfaRequired = await signIn(client, TOMAS)
  expect(mfaRequired.status).toBe('MFA_REQUIRED')
  await expect(factor(mfaRequired, 'token:software:totp')({ passCode: '000000' })).rejects.toMatchObject({
    errorCode: 'E0000068',
  })
  const done = await factor(
    mfaRequired,
    'token:software:totp',
  )({
    passCode: harness.sandbox.totpCode(TOMAS),
    rememberDevice: true,
  })
  expect(done.status).toBe('SUCCESS')
  expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(TOMAS)
})

test('polls a push until it is approved', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const mfaRequired = await signIn(client, PRIYA)
  const waiting = await factor(mfaRequired, 'push')({})
  expect(waiting.factorResult).toBe('WAITING')
  const done = step(waiting.poll, 'poll')({ delay: 10 })
  await until(() => harness.upstreamCalls().filter(({ path }) => path.endsWith('/verify')).length > 2)
  harness.sandbox.answerPush(PRIYA, 'approve')
  expect((await done).status).toBe('SUCCESS')
  expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(PRIYA)
})

test('changes an expired password', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const expired = await signIn(client, OLGA)
  expect(expired.status).toBe('PASSWORD_EXPIRED')
  const done = await step(
    expired.changePassword,
    'changePassword',
  )({
    oldPassword: PASSWORD,
    newPassword: 'Another-Password-2',
  })
  expect(done.status).toBe('SUCCESS')
})

test('skips the warning of an expiring password', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const warned = await signIn(client, WALTER, { options: { warnBeforePasswordExpired: true } })
  expect(warned.status).toBe('PASSWORD_WARN')
  expect((await step(warned.skip, 'skip')()).status).toBe('SUCCESS')
})
