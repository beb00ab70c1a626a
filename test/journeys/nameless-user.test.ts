import { expect, test } from '@jest/globals'
import { useStubHarness } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'
import { sendJson } from '../support/stub-upstream.ts'

/**
 * The login of a session is the user's identity at PAM and at applications, so only Okta may name
 * it.
 */

const harness = useStubHarness({ answer: (_req, res) => sendJson(res, 500, {}) })

test.each([
  ['no profile', { id: '00uAda' }],
  ['a profile without a login', { id: '00uAda', profile: { firstName: 'Ada' } }],
  ['an empty login', { id: '00uAda', profile: { login: '' } }],
  ['a login that is no text', { id: '00uAda', profile: { login: 7 } }],
])('a success with %s opens no session, whatever name was typed', async (_, user) => {
  const page = await openPage(harness)
  harness.stub.answers({
    status: 'SUCCESS',
    sessionToken: '20111plainly-fake-session-token',
    _embedded: { user },
  })
  const { status, json, setCookies } = await page.signIn('admin@example.test')
  expect([status, json.errorCode, setCookies]).toEqual([502, 'E0000009', []])
  expect((await page.browser.get('/api/v1/sessions/me')).status).toBe(404)
})
