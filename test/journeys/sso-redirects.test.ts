import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Browser, openBrowser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, PASSWORD, useHarness } from '../support/harness.ts'
import { type Navigated, navigate } from '../support/navigate.ts'
import { SOME_REDIRECT_ATTACKS } from '../support/redirect-attacks.ts'

/**
 * The `redirectUrl` of `session.setCookieAndRedirect(sessionToken, redirectUrl)` in Okta's browser
 * library.
 */
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

// shows: F-5.5
// sandbox shows: F-5.5
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

// shows: F-1.20
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

// shows: V2.3.4, V15.4.2
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

// shows: V1.2.2, V3.7.2
test('no redirect route can be tricked into another target', async () => {
  const broker = await harness.replica({ SSO_REDIRECTS: 'https://app.example.com/home', STEP_UP: 'on' })
  const browser = openBrowser(broker.url)
  await browser.get('/api/v1/sessions/me')
  const answer = await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  const handle = String(answer.json.sessionToken)
  const go = (path: string, query: Record<string, string>) =>
    navigate(browser, `${broker.url}${path}?${new URLSearchParams(query)}`)
  for (const trick of SOME_REDIRECT_ATTACKS) {
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

describe('with OKTA_SIGN_OUT', () => {
  let broker: Gatehouse
  beforeAll(async () => {
    broker = await harness.replica({ OKTA_SIGN_OUT: 'on' })
  })

  const paramsOf = (href: string | undefined) => Object.fromEntries(new URL(href ?? '').searchParams)
  /** At the replica, which has the PUBLIC_URL of another one. */
  const go = (browser: Browser, href: string) =>
    navigate(browser, href.replace(harness.gatehouse.url, broker.url))
  /** The URL to which Okta's sign-out returns. */
  const returnUrlOf = ({ location }: Navigated) => String(paramsOf(location).fromURI)
  const pathOf = ({ location }: Navigated) => location && new URL(location).pathname
  const SIGN_OUT = '/login/signout'
  const REDEMPTION = '/login/sessionCookieRedirect'

  test('a redemption goes to Okta’s sign-out, returns from there, and works once', async () => {
    const { browser, handle } = await openSession()
    const first = await go(browser, ssoRedirectUrl(handle))
    expect(first.status).toBe(302)
    expect(first.location).toMatch(`${harness.authnUrl}${SIGN_OUT}?fromURI=`)
    const returnUrl = returnUrlOf(first)
    expect(returnUrl).toMatch(`${harness.gatehouse.url}${REDEMPTION}?`)
    expect(paramsOf(returnUrl)).toEqual({
      token: handle,
      redirectUrl: TARGET,
      signedOut: expect.stringMatching(/^[\w-]{43}$/),
    })

    const atOkta = await fetch(String(first.location), { redirect: 'manual' })
    expect(atOkta.headers.get('location')).toBe(returnUrl)
    const redeemed = await go(browser, returnUrl)
    expect([redeemed.status, pathOf(redeemed)]).toEqual([302, REDEMPTION])
    const { token, redirectUrl } = paramsOf(redeemed.location)
    expect(harness.sandbox.tokensIssued()).toContain(token)
    expect(redirectUrl).toBe(TARGET)
    for (const again of [returnUrl, ssoRedirectUrl(handle)])
      expect((await go(browser, again)).status).toBe(401)
  })

  test('of many concurrent requests all go to the sign-out, and of their returns one is redeemed', async () => {
    const { browser, handle } = await openSession()
    const ten = (href: string) => Promise.all(Array.from({ length: 10 }, () => go(browser, href)))
    const first = await ten(ssoRedirectUrl(handle))
    expect(first.map(pathOf)).toEqual(first.map(() => SIGN_OUT))
    const [one] = first
    const returned = await ten(returnUrlOf(one as Navigated))
    expect(returned.flatMap((answer) => pathOf(answer) ?? [])).toEqual([REDEMPTION])
    expect(returned.filter(({ status }) => status === 401)).toHaveLength(9)
  })

  test('a return that Gatehouse has not sent there goes to the sign-out', async () => {
    const [{ browser, handle }, other] = [await openSession(), await openSession()]
    const { signedOut = '' } = paramsOf(returnUrlOf(await go(other.browser, ssoRedirectUrl(other.handle))))
    const url = ssoRedirectUrl(handle)
    for (const made of [signedOut, 'true', '', `${signedOut}&signedOut=${signedOut}`])
      expect(pathOf(await go(browser, `${url}&signedOut=${made}`))).toBe(SIGN_OUT)
  })

  test('another device is sent nowhere, and the handle still works', async () => {
    const { browser, handle } = await openSession()
    const returnUrl = returnUrlOf(await go(browser, ssoRedirectUrl(handle)))
    for (const stranger of [await harness.visit(), openBrowser(harness.gatehouse.url)])
      for (const href of [ssoRedirectUrl(handle), returnUrl])
        expect(await go(stranger, href)).toMatchObject({ status: 401, location: undefined })
    expect(pathOf(await go(browser, returnUrl))).toBe(REDEMPTION)
  })

  test('a session that ends meanwhile ends the handle, before the sign-out and after it', async () => {
    const { browser, handle } = await openSession()
    const returnUrl = returnUrlOf(await go(browser, ssoRedirectUrl(handle)))
    await browser.delete('/api/v1/sessions/me')
    for (const href of [ssoRedirectUrl(handle), returnUrl])
      expect(await go(browser, href)).toMatchObject({ status: 401, location: undefined })
  })

  test('no target can be tricked into the sign-out, nor into its return', async () => {
    const own = await harness.replica({ OKTA_SIGN_OUT: 'on', SSO_REDIRECTS: 'https://app.example.com/home' })
    const { browser, handle } = await openSession()
    const at = (href: string) => navigate(browser, href.replace(harness.gatehouse.url, own.url))
    const allowed = await at(ssoRedirectUrl(handle, 'https://app.example.com/home'))
    const { signedOut = '' } = paramsOf(returnUrlOf(allowed))
    for (const trick of SOME_REDIRECT_ATTACKS)
      for (const end of ['', `&signedOut=${signedOut}`]) {
        const { status, location } = await at(`${ssoRedirectUrl(handle, trick)}${end}`)
        expect([trick, status, location]).toEqual([trick, 400, undefined])
      }
    expect(pathOf(await at(returnUrlOf(allowed)))).toBe(REDEMPTION)
  })

  test('while replicas are switched on one after another, a return to one without it is redeemed', async () => {
    const { browser, handle } = await openSession()
    const returnUrl = returnUrlOf(await go(browser, ssoRedirectUrl(handle)))
    expect(pathOf(await navigate(browser, returnUrl))).toBe(REDEMPTION)
  })

  test('after a sign-out, the page is told Okta’s sign-out, from which the user returns to the sign-in page', async () => {
    const signInUrl = `${harness.gatehouse.url}/login?theme=dark#top`
    const own = await harness.replica({ OKTA_SIGN_OUT: 'on', SSO_REDIRECTS: '', SIGN_IN_URL: signInUrl })
    const browser = openBrowser(own.url)
    await browser.get('/api/v1/sessions/me')
    await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
    const { status, headers } = await browser.delete('/api/v1/sessions/me', {
      headers: { origin: harness.gatehouse.url },
    })
    expect([status, headers.get('access-control-expose-headers')]).toEqual([
      204,
      expect.stringContaining('X-Gatehouse-Sign-Out'),
    ])
    const address = headers.get('x-gatehouse-sign-out') ?? ''
    expect(address).toMatch(`${harness.authnUrl}${SIGN_OUT}?`)
    expect(paramsOf(address)).toEqual({ fromURI: signInUrl })
  })
})
