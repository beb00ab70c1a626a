import { describe, expect, test } from '@jest/globals'
import { useStubHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { openPage } from '../support/portal-page.ts'
import { sendJson } from '../support/stub-upstream.ts'

/**
 * An operator ends all sessions of a user during a sign-in in which Okta has not named the user
 * yet.
 */

const OPS_TOKEN = 'plainly-fake-ops-token'
const STATE_TOKEN = '00plainly-fake-state-token-00000001'
const VERIFY = '/api/v1/authn/factors/otp1/verify'
const CHANGE = '/api/v1/authn/credentials/change_password'
const ME = '/api/v1/sessions/me'
const ADA = { id: '00uAda', profile: { login: 'ada@example.test' } }
const success = (user: object) => ({
  status: 'SUCCESS',
  sessionToken: '20111plainly-fake-session-token',
  _embedded: { user },
})

/** What else happens before the stub answers a call for which the test has queued no answer. */
let meanwhile: () => Promise<unknown>
const harness = useStubHarness({
  env: { OPS_TOKEN, STEP_UP: 'on', RECOVERY: 'known-devices' },
  async answer(_req, res) {
    await meanwhile()
    sendJson(res, 200, success(ADA))
  },
})

const awaits = (status: string, path: string, embedded: object) => ({
  stateToken: STATE_TOKEN,
  status,
  _embedded: embedded,
  _links: { next: [{ href: harness.stub.origin + path, hints: { allow: ['POST'] } }] },
})
const expired = (embedded: object) => awaits('PASSWORD_EXPIRED', CHANGE, embedded)
const factorRequired = () =>
  awaits('MFA_REQUIRED', VERIFY, { factors: [{ id: 'otp1', factorType: 'token:software:totp' }] })

/** A sign-in that waits for a code; Okta has not named its user. */
async function startSignIn() {
  const page = await openPage(harness)
  harness.stub.answers(factorRequired())
  expect((await page.signIn('ada@example.test')).json.status).toBe('MFA_REQUIRED')
  return page
}

/** Opens a page in an imported transaction with this state. */
async function importWith(state: object) {
  const page = await openPage(harness)
  const { location = '' } = await navigate(
    page.browser,
    `${harness.gatehouse.url}/signin/step-up?stateToken=${STATE_TOKEN}`,
  )
  harness.stub.answers(state)
  await page.begin('/api/v1/authn', { stateToken: new URL(location).searchParams.get('stateToken') })
  return page
}

const adminDelete = (path: string) =>
  fetch(`${harness.gatehouse.opsUrl}/admin/${path}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${OPS_TOKEN}` },
  })
const endAllSessions = (userId: string) => adminDelete(`users/${userId}/sessions`)

test('if only the last response names this user, no session opens', async () => {
  const page = await startSignIn()
  await endAllSessions(ADA.id)
  harness.stub.answers(success(ADA))
  const { status, json, setCookies } = await page.send(VERIFY, { passCode: '123456' })
  expect([status, json.errorCode, setCookies]).toEqual([401, 'E0000011', []])
  expect((await page.browser.get(ME)).status).toBe(404)
})

test('if a password waits for Okta meanwhile, no session opens', async () => {
  const page = await openPage(harness)
  meanwhile = () => endAllSessions(ADA.id)
  const { status, json, setCookies } = await page.signIn('ada@example.test')
  expect([status, json.errorCode, setCookies]).toEqual([401, 'E0000011', []])
  expect((await page.browser.get(ME)).status).toBe(404)
})

test('nor does one open if the operator then ends the sessions of all users too', async () => {
  const page = await openPage(harness)
  meanwhile = async () => {
    await endAllSessions(ADA.id)
    await adminDelete('sessions')
  }
  const { status, json, setCookies } = await page.signIn('ada@example.test')
  expect([status, json.errorCode, setCookies]).toEqual([401, 'E0000011', []])
  expect((await page.browser.get(ME)).status).toBe(404)
})

test('if the step itself first asks who the user of an imported transaction is, no session opens', async () => {
  const page = await importWith(expired({}))
  harness.stub.answers(expired({ user: ADA }))
  meanwhile = () => endAllSessions(ADA.id)
  const { status, json } = await page.send(CHANGE, { oldPassword: 'old', newPassword: 'new' })
  expect([status, json.errorCode]).toEqual([401, 'E0000011'])
  expect((await page.browser.get(ME)).status).toBe(404)
})

test('if they end before it asks, the credential is not sent', async () => {
  const page = await importWith(expired({}))
  await endAllSessions(ADA.id)
  harness.stub.answers(expired({ user: ADA }))
  let isSent = false
  meanwhile = async () => {
    isSent = true
  }
  const { status, json } = await page.send(CHANGE, { oldPassword: 'old', newPassword: 'new' })
  expect([status, json.errorCode, isSent]).toEqual([401, 'E0000011', false])
})

test('the device of a sign-in that is refused for it is not known afterwards', async () => {
  const page = await openPage(harness)
  meanwhile = () => endAllSessions(ADA.id)
  expect((await page.signIn('ada@example.test')).status).toBe(401)
  meanwhile = async () => {}
  const recovery = { username: 'ada@example.test', factorType: 'EMAIL' }
  expect((await page.browser.post('/api/v1/authn/recovery/password', recovery)).status).toBe(403)
})

describe('a password change that ends all other sessions does not end its own sign-in', () => {
  const RESET = '/api/v1/authn/credentials/reset_password'
  const fields = { oldPassword: 'old', newPassword: 'new', revokeSessions: true }
  test('if only the last response names the user', async () => {
    const page = await openPage(harness)
    harness.stub.answers(expired({}), success(ADA))
    await page.signIn('ada@example.test')
    expect((await page.send(CHANGE, fields)).json.status).toBe('SUCCESS')
    expect((await page.browser.get(ME)).json.userId).toBe(ADA.id)
  })

  test('if the transaction is an imported one', async () => {
    const page = await importWith(expired({ user: ADA }))
    harness.stub.answers(expired({ user: ADA }), success(ADA))
    expect((await page.send(CHANGE, fields)).json.status).toBe('SUCCESS')
    expect((await page.browser.get(ME)).json.userId).toBe(ADA.id)
  })

  test('if a factor is required after the reset of a password in an imported one', async () => {
    const page = await importWith(awaits('PASSWORD_RESET', RESET, { user: ADA }))
    harness.stub.answers(factorRequired())
    expect((await page.send(RESET, fields)).json.status).toBe('MFA_REQUIRED')
    harness.stub.answers(factorRequired(), success(ADA))
    expect((await page.send(VERIFY, { passCode: '123456' })).json.status).toBe('SUCCESS')
    expect((await page.browser.get(ME)).json.userId).toBe(ADA.id)
  })
})
