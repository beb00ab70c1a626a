import { describe, expect, test } from '@jest/globals'
import { useStubHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { openPage } from '../support/portal-page.ts'

/** An operator ends all sessions of a user during a sign-in in which Okta has not named the user yet. */

const OPS_TOKEN = 'plainly-fake-ops-token'
const STATE_TOKEN = '00plainly-fake-state-token-00000001'
const VERIFY = '/api/v1/authn/factors/otp1/verify'
const ME = '/api/v1/sessions/me'
const ADA = { id: '00uAda', profile: { login: 'ada@example.test' } }
const success = (user: object) => ({
  status: 'SUCCESS',
  sessionToken: '20111plainly-fake-session-token',
  _embedded: { user },
})

const harness = useStubHarness({ env: { OPS_TOKEN, STEP_UP: 'on' } })

/** A sign-in that waits for a code; Okta has not named its user. */
async function startSignIn() {
  const page = await openPage(harness)
  harness.stub.answers({
    stateToken: STATE_TOKEN,
    status: 'MFA_REQUIRED',
    _embedded: { factors: [{ id: 'otp1', factorType: 'token:software:totp' }] },
    _links: { next: [{ href: harness.stub.origin + VERIFY, hints: { allow: ['POST'] } }] },
  })
  expect((await page.signIn('ada@example.test')).json.status).toBe('MFA_REQUIRED')
  return page
}

const endAllSessions = (userId: string) =>
  fetch(`${harness.gatehouse.opsUrl}/admin/users/${userId}/sessions`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${OPS_TOKEN}` },
  })

test('if only the last response names this user, no session opens', async () => {
  const page = await startSignIn()
  await endAllSessions(ADA.id)
  harness.stub.answers(success(ADA))
  const { status, json, setCookies } = await page.send(VERIFY, { passCode: '123456' })
  expect([status, json.errorCode, setCookies]).toEqual([401, 'E0000011', []])
  expect((await page.browser.get(ME)).status).toBe(404)
})

describe('a password change that ends all other sessions does not end its own sign-in', () => {
  const CHANGE = '/api/v1/authn/credentials/change_password'
  const fields = { oldPassword: 'old', newPassword: 'new', revokeSessions: true }
  const expired = (embedded: object) => ({
    stateToken: STATE_TOKEN,
    status: 'PASSWORD_EXPIRED',
    _embedded: embedded,
    _links: { next: { href: harness.stub.origin + CHANGE, hints: { allow: ['POST'] } } },
  })

  test('if only the last response names the user', async () => {
    const page = await openPage(harness)
    harness.stub.answers(expired({}), success(ADA))
    await page.signIn('ada@example.test')
    expect((await page.send(CHANGE, fields)).json.status).toBe('SUCCESS')
    expect((await page.browser.get(ME)).json.userId).toBe(ADA.id)
  })

  test('if the transaction is an imported one', async () => {
    const page = await openPage(harness)
    const { location = '' } = await navigate(
      page.browser,
      `${harness.gatehouse.url}/signin/step-up?stateToken=${STATE_TOKEN}`,
    )
    const stateToken = new URL(location).searchParams.get('stateToken')
    harness.stub.answers(expired({ user: ADA }), expired({ user: ADA }), success(ADA))
    await page.browser.post('/api/v1/authn', { stateToken })
    const changed = await page.browser.post(CHANGE, { stateToken, ...fields })
    expect(changed.json.status).toBe('SUCCESS')
    expect((await page.browser.get(ME)).json.userId).toBe(ADA.id)
  })
})
