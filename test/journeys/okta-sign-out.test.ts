import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { SandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, WALTER } from '../support/harness.ts'
import { until } from '../support/until.ts'

/**
 * The Okta session of a browser that several users share, in Chromium: user A has signed in at
 * Okta, user B signs in at the portal. Rows A1 and A2 of what is known about Okta
 * (docs/connect-your-okta-org.md#7-single-sign-on).
 */

let harness: Harness
let chromium: Browser
let context: BrowserContext
let orgConfig: SandboxConfig
/** By the value of OKTA_SIGN_OUT. */
let brokers: Readonly<Record<'off' | 'on', Gatehouse>>
beforeAll(async () => {
  chromium = await openChromium()
  harness = await startHarness({
    sandboxConfig(config) {
      orgConfig = config
      return config
    },
  })
  brokers = { off: await startBroker({}), on: await startBroker({ OKTA_SIGN_OUT: 'on' }) }
})
afterAll(async () => {
  await chromium.close()
  await Promise.all(Object.values(brokers).map((broker) => broker.stop()))
  await harness.stop()
})
beforeEach(async () => {
  harness.sandbox.reset()
  context = await chromium.newContext()
})
afterEach(() => context.close())

/** A broker with its own PUBLIC_URL. */
async function startBroker(env: Record<string, string>): Promise<Gatehouse> {
  const { PUBLIC_URL: _, ...shared } = harness.signInEnv
  return startGatehouse({ env: { ...shared, SSO_REDIRECTS: `${harness.authnUrl}/home`, ...env } })
}

const appUrl = () => `${harness.authnUrl}/home/travel/0oasandboxtravel001/aln1`

/**
 * The browser of a shared computer, in which this user has signed in at Okta, without the portal.
 */
async function signedInAtOkta(username: string): Promise<Page> {
  const response = await fetch(`${harness.authnUrl}/api/v1/authn`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: PASSWORD }),
  })
  const { sessionToken } = (await response.json()) as { sessionToken: string }
  const page = await context.newPage()
  const query = new URLSearchParams({ token: sessionToken, redirectUrl: appUrl() })
  await page.goto(`${harness.authnUrl}/login/sessionCookieRedirect?${query}`)
  expect(await userOfApp(page)).toBe(username)
  harness.clearUpstreamCalls()
  return page
}

/** Whom the app that the browser has arrived at sees. */
const userOfApp = async (page: Page) =>
  /signed in as (\S+)\./.exec(await page.locator('main').innerText())?.[1]

/**
 * Opens the portal's page, and signs this user in. @returns the path of the redemption of the SSO
 * token
 */
async function signInAtPortal(page: Page, { url }: Gatehouse, username: string): Promise<string> {
  await page.route(`${url}/portal`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Portal</title>' }),
  )
  await page.goto(`${url}/portal`)
  const credentials = JSON.stringify({ username, password: PASSWORD })
  const token = await page.evaluate<string>(`(async () => {
    await fetch('/api/v1/sessions/me')
    const body = ${JSON.stringify(credentials)}
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch('/api/v1/authn', { method: 'POST', headers, body })
    return (await answer.json()).sessionToken
  })()`)
  return `/login/sessionCookieRedirect?${new URLSearchParams({ token, redirectUrl: appUrl() })}`
}

/** As a link on the portal's page. */
async function openApp(page: Page, path: string): Promise<void> {
  await page.evaluate(`location.assign(${JSON.stringify(path)})`)
  await page.waitForURL(appUrl())
}

describe('without OKTA_SIGN_OUT', () => {
  test('the app opens as the user who signed in at Okta before, not as the portal’s (A1)', async () => {
    const page = await signedInAtOkta(AMELIA)
    await openApp(page, await signInAtPortal(page, brokers.off, WALTER))
    expect(await userOfApp(page)).toBe(AMELIA)
  })

  test('after a sign-out at the portal, the app still opens (A2)', async () => {
    const page = await context.newPage()
    await openApp(page, await signInAtPortal(page, brokers.off, WALTER))
    expect(await signOut(page, brokers.off)).toEqual([204, null])
    await page.goto(appUrl())
    expect(await userOfApp(page)).toBe(WALTER)
  })
})

describe('with OKTA_SIGN_OUT', () => {
  test.each([
    ['another user', AMELIA],
    ['the same user', WALTER],
  ])('the app opens as the user of the portal, if %s had a session at Okta (A1)', async (_, before) => {
    const page = await signedInAtOkta(before)
    await openApp(page, await signInAtPortal(page, brokers.on, WALTER))
    expect(await userOfApp(page)).toBe(WALTER)
    expect(oktaVisits()).toEqual(['/login/signout', '/login/sessionCookieRedirect'])
  })

  test('the app opens in a browser that has no Okta session', async () => {
    const page = await context.newPage()
    await openApp(page, await signInAtPortal(page, brokers.on, WALTER))
    expect(await userOfApp(page)).toBe(WALTER)
  })

  test('a user who stops the redirect, and opens the app again, has not skipped the sign-out at Okta', async () => {
    const page = await signedInAtOkta(AMELIA)
    const path = await signInAtPortal(page, brokers.on, WALTER)
    harness.sandbox.faults.authn.set([{ kind: 'delay', ms: 3_600_000, path: '/login/signout', times: 1 }])
    await page.evaluate(`location.assign(${JSON.stringify(path)})`)
    await until(() => oktaVisits().length === 1)
    await (await context.newCDPSession(page)).send('Page.stopLoading') // as by the button or Escape
    await openApp(page, path)
    expect(await userOfApp(page)).toBe(WALTER)
  })

  test('a page that signs out is told where the Okta session ends, and arrives at the sign-in page (A2)', async () => {
    const page = await context.newPage()
    await openApp(page, await signInAtPortal(page, brokers.on, WALTER))
    const [status, address] = await signOut(page, brokers.on)
    expect(status).toBe(204)
    await page.evaluate(`location.assign(${JSON.stringify(address)})`)
    await page.waitForURL(`${brokers.on.url}/`) // the sign-in page
    await page.goto(appUrl())
    expect(await page.title()).toBe('Sign in at Okta')
  })

  test('an untrusted PUBLIC_URL ends at Okta’s sign-in page: the app does not open as another user', async () => {
    const page = await signedInAtOkta(AMELIA)
    const path = await signInAtPortal(page, brokers.on, WALTER)
    orgConfig.redirectOrigins = ['https://portal.example.test']
    try {
      await page.evaluate(`location.assign(${JSON.stringify(path)})`)
      await page.getByText('Sign in at Okta').waitFor()
    } finally {
      delete orgConfig.redirectOrigins
    }
    await page.goto(appUrl())
    expect(await page.title()).toBe('Sign in at Okta')
  })
})

/** The pages at Okta that the browser has opened on the way to the app. */
const oktaVisits = () =>
  harness.upstreamCalls().flatMap(({ path }) => {
    const { pathname } = new URL(path, harness.authnUrl)
    return pathname.startsWith('/login/') ? [pathname] : []
  })

/** On the portal's page. @returns the status, and the address that the page is told to open */
async function signOut(page: Page, { url }: Gatehouse): Promise<[number, string | null]> {
  await page.goto(`${url}/portal`)
  return page.evaluate<[number, string | null]>(`(async () => {
    const answer = await fetch('/api/v1/sessions/me', { method: 'DELETE' })
    return [answer.status, answer.headers.get('x-gatehouse-sign-out')]
  })()`)
}
