import { beforeEach, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { AMELIA, PASSWORD, useHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { REDIRECT_ATTACKS } from '../support/redirect-attacks.ts'

/** The `redirectUrl` of `session.setCookieAndRedirect(sessionToken, redirectUrl)` in Okta's browser library. */
const TARGET = 'http://localhost:3000/home'

let nowMs = Date.now()
const harness = useHarness({ env: { SSO_REDIRECTS: TARGET }, sandboxNow: () => nowMs })
beforeEach(() => {
  nowMs = Date.now()
})

async function openSession() {
  const browser = await harness.visit()
  const answer = await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  return { browser, handle: String(answer.json.sessionToken), answer }
}
const ssoRedirectUrl = (handle: string, redirectUrl = TARGET) =>
  `${harness.gatehouse.url}/login/sessionCookieRedirect?checkAccountSetupComplete=true&token=${encodeURIComponent(
    handle,
  )}&redirectUrl=${encodeURIComponent(redirectUrl)}`

test('SUCCESS carries an SSO token, which redirects the browser once', async () => {
  const { browser, handle, answer } = await openSession()
  expect(handle).toMatch(/^00[\w-]{43}$/)
  expect(harness.sandbox.tokensIssued()).not.toContain(handle)
  for (const token of harness.sandbox.tokensIssued()) expect(answer.text).not.toContain(token)

  const out = await navigate(browser, ssoRedirectUrl(handle, `${TARGET}/deep?x=1`))
  expect(out.status).toBe(302)
  const oktaUrl = new URL(out.location ?? '')
  expect(oktaUrl.origin + oktaUrl.pathname).toBe(`${harness.authnUrl}/login/sessionCookieRedirect`)
  expect(oktaUrl.searchParams.get('redirectUrl')).toBe(`${TARGET}/deep?x=1`)
  expect(harness.sandbox.tokensIssued()).toContain(oktaUrl.searchParams.get('token'))
  const redeemed = await fetch(oktaUrl, { redirect: 'manual' })
  expect([redeemed.status, redeemed.headers.get('location')]).toEqual([302, `${TARGET}/deep?x=1`])

  const again = await navigate(browser, ssoRedirectUrl(handle))
  expect([again.status, again.location]).toEqual([401, undefined])
})

test('an SSO token expires after 5 minutes', async () => {
  const redis = harness.redis.client()
  const beforeMs = Date.now()
  await openSession()
  const afterMs = Date.now()
  const keys = await redis.keys('gatehouse:sso:*')
  const expiresAtMs = await Promise.all(keys.map((key) => redis.pexpiretime(key)))
  expect(Math.max(...expiresAtMs)).toBeGreaterThanOrEqual(beforeMs + 300_000)
  expect(Math.max(...expiresAtMs)).toBeLessThanOrEqual(afterMs + 300_000)
})

test('of many concurrent requests one is redirected', async () => {
  const { browser, handle } = await openSession()
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => navigate(browser, ssoRedirectUrl(handle))),
  )
  expect(answers.filter(({ status }) => status === 302)).toHaveLength(1)
})

test('refused requests do not consume the SSO token', async () => {
  const { browser, handle } = await openSession()
  expect((await navigate(await harness.visit(), ssoRedirectUrl(handle))).status).toBe(401)
  expect((await navigate(openBrowser(harness.gatehouse.url), ssoRedirectUrl(handle))).status).toBe(401)
  for (const target of [
    'https://evil.example/home',
    'http://localhost:3000/other',
    '//evil.example',
    'javascript:alert(1)',
  ]) {
    const refused = await navigate(browser, ssoRedirectUrl(handle, target))
    expect([refused.status, refused.location]).toEqual([400, undefined])
    expect(refused.text).not.toMatch(/evil|javascript/)
  }
  expect((await navigate(browser, ssoRedirectUrl(handle), { method: 'HEAD' })).status).toBe(405)
  expect(
    (await navigate(browser, ssoRedirectUrl(handle), { headers: { 'sec-fetch-dest': 'iframe' } })).status,
  ).toBe(403)
  expect((await navigate(browser, ssoRedirectUrl(handle))).status).toBe(302)
})

test('no redirect route can be tricked into another target', async () => {
  const broker = await harness.replica({ SSO_REDIRECTS: 'https://app.example.com/home', STEP_UP: 'on' })
  const browser = openBrowser(broker.url)
  await browser.get('/api/v1/sessions/me')
  const answer = await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  const handle = String(answer.json.sessionToken)
  const go = (path: string, query: Record<string, string>) =>
    navigate(browser, `${broker.url}${path}?${new URLSearchParams(query)}`)
  for (const trick of REDIRECT_ATTACKS) {
    const out = await go('/login/sessionCookieRedirect', { token: handle, redirectUrl: trick })
    expect([trick, out.status, out.location]).toEqual([trick, 400, undefined])
    for (const path of ['/login/step-up/redirect', '/login/token/redirect', '/sso/idps/0oa1']) {
      const refused = await go(path, { stateToken: trick, redirectUrl: trick, fromURI: trick })
      expect([trick, refused.status, refused.location]).toEqual([trick, 401, undefined])
    }
    const arrived = await go('/signin/step-up', { stateToken: trick, redirectUrl: trick })
    if (arrived.location !== undefined)
      expect(arrived.location.startsWith(`${harness.gatehouse.url}/?stateToken=00`)).toBe(true)
  }
  expect(
    (await go('/login/sessionCookieRedirect', { token: handle, redirectUrl: 'https://app.example.com/home' }))
      .status,
  ).toBe(302)
})

test('without SSO_REDIRECTS there is no SSO token and no redirect', async () => {
  const plain = await harness.replica({ SSO_REDIRECTS: '' })
  const browser = openBrowser(plain.url)
  await browser.get('/api/v1/sessions/me')
  const answer = await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect(answer.json.status).toBe('SUCCESS')
  expect(answer.json).not.toHaveProperty('sessionToken')
  expect(
    (await navigate(browser, ssoRedirectUrl(`00${'A'.repeat(43)}`).replace(harness.gatehouse.url, plain.url)))
      .status,
  ).toBe(400)
})
