import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { IDENTITY_HEADERS } from '../../src/forward-auth/forward-auth.ts'
import { openChromium } from '../support/chromium.ts'
import { AMELIA, PASSWORD } from '../support/harness.ts'
import { cookiesOf, type Portal, startPortal, ZOE } from '../support/portal.ts'
import {
  OTHER_IDENTITY_HEADERS,
  PORTAL,
  PORTAL_HOST,
  type ProxyName,
  REPORTS_HOST,
  SIGN_IN,
  WIKI_HOST,
} from '../support/proxies.ts'
import { SIGN_IN_PAGE } from '../support/proxy.ts'

/**
 * A user follows a deep link to the application, in Chromium, through the proxy examples of
 * `deploy/proxies/`.
 */

const NAMES: readonly ProxyName[] = ['nginx', 'Caddy', 'HAProxy', 'Apache']

describe.each(NAMES)('%s', (name) => {
  let portal: Portal
  let browser: Browser
  beforeAll(async () => {
    portal = await startPortal({ proxy: name })
    const hosts = [PORTAL_HOST, WIKI_HOST, REPORTS_HOST].map(
      (host) => `MAP ${host}:443 127.0.0.1:${portal.proxy.port}`,
    )
    browser = await openChromium(`--host-resolver-rules=${hosts.join()}`)
  })
  afterAll(async () => {
    await browser?.close()
    await portal?.stop()
  })

  test('a deep link leads to the sign-in page, and after the sign-in to the application’s page', async () => {
    const path = '/app/files/a%2Fb/gr%C3%BC%C3%9Fe%25?year=2026&view=a%20b&next=https://evil.example/'
    const page = await browser.newPage({ ignoreHTTPSErrors: true })
    await page.goto(`${PORTAL}${path}#totals`)
    const arrivedAt = new URL(page.url())
    expect([await page.textContent('body'), arrivedAt.origin, arrivedAt.pathname]).toEqual([
      SIGN_IN_PAGE,
      PORTAL,
      '/',
    ])
    expect(arrivedAt.searchParams.get('returnTo')).toBe(`${PORTAL}${path}`)
    expect(portal.arrived).toEqual([])
    expect(await signIn(page)).toBe(200)
    await page.goto(`${PORTAL}/signin${arrivedAt.search}${arrivedAt.hash}`)
    expect(await page.textContent('body')).toBe('the application')
    expect(portal.arrived.map(({ url }) => url).at(0)).toBe(path)
    expect(page.url()).toBe(`${PORTAL}${path}#totals`)
  })

  test('an application on another host knows the user after the sign-in, until the sign-out', async () => {
    const wiki = `https://${WIKI_HOST}`
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    const page = await context.newPage()
    await page.goto(`${wiki}/page?x=1&y=a%20b#part`)
    const arrivedAt = new URL(page.url())
    expect([arrivedAt.origin, arrivedAt.pathname]).toEqual([PORTAL, '/'])
    expect(arrivedAt.searchParams.get('returnTo')).toBe(`${wiki}/page?x=1&y=a%20b`)
    expect(await signIn(page)).toBe(200)
    const count = portal.arrived.length
    await page.goto(`${PORTAL}/signin${arrivedAt.search}`)
    expect([page.url(), await page.textContent('body')]).toEqual([
      `${wiki}/page?x=1&y=a%20b`,
      'the application',
    ])
    const opened = portal.arrived.slice(count).find(({ url }) => url.startsWith('/page'))
    const headers = new Map(opened?.headers)
    expect(headers.get('x-auth-request-preferred-username')).toBe(encodeURIComponent(AMELIA))
    expect(headers.get('cookie') ?? '').toBe('')
    expect(String(headers.get('referer'))).not.toContain('code=')
    const names = (await context.cookies(wiki)).map((cookie) => cookie.name)
    expect(names.toSorted()).toEqual(['__Host-gatehouse-app', '__Host-gatehouse-app-state'])

    // the other application has three rules
    const reports = `https://${REPORTS_HOST}`
    await page.goto(`${reports}/`)
    expect([page.url(), await page.textContent('body')]).toEqual([`${reports}/`, 'the application'])
    const fetched = (path: string) =>
      page.evaluate(async (path) => {
        const { status, headers } = await fetch(path)
        return [status, headers.get('X-Auth-Request-Denied')]
      }, path)
    expect(await fetched('/payroll/1')).toEqual([200, null])
    expect(await fetched('/payroll/transfers/1')).toEqual([401, 'amr'])
    const refused = `${reports}/payroll/transfers/1?x=1&y=a%20b`
    await page.goto(refused)
    const { origin, searchParams } = new URL(page.url())
    expect([origin, Object.fromEntries(searchParams)]).toMatchObject([
      PORTAL,
      { returnTo: refused, prompt: 'login', reason: 'amr', amr: 'mfa' },
    ])

    await page.goto(PORTAL)
    const signedOut = () => fetch('/api/v1/sessions/me', { method: 'DELETE' }).then(({ status }) => status)
    expect(await page.evaluate(signedOut)).toBe(204)
    await page.goto(`${wiki}/page`)
    expect([page.url(), await page.textContent('body')]).toEqual([
      expect.stringContaining(`${PORTAL}/?returnTo=`),
      expect.anything(),
    ])
    await context.close()
  })

  const ask = (url: string, cookies: string, ...headers: string[]) => askAt(portal, url, cookies, ...headers)
  const open = (url: unknown, cookies: string) => openAt(portal, url, cookies)

  test('a user whom a rule of another host refuses gets a page of the portal, a fetch the reason', async () => {
    const ofPortal = await portal.signIn(ZOE)
    const count = portal.arrived.length
    for (const [host, path, reason] of [
      [WIKI_HOST, '/page?x=1', 'group'],
      [REPORTS_HOST, '/payroll/1', 'role'],
    ] as const) {
      const url = `https://${host}${path}`
      const cookies = await cookiesAt(portal, host, ofPortal)
      const { status, headers } = await ask(url, cookies, 'Sec-Fetch-Mode', 'cors')
      expect([status, headers['x-auth-request-denied']]).toEqual([403, reason])
      const opened = await open(url, cookies)
      expect([opened.status, opened.headers.location?.replace('?&', '?')]).toEqual([
        302,
        `https://${host}/forward-auth/start?reason=${reason}&returnTo=${url}`,
      ])
      const start = await open(opened.headers.location, cookies)
      const page = new URL(String((await open(start.headers.location, ofPortal)).headers.location))
      expect([page.origin + page.pathname, Object.fromEntries(page.searchParams)]).toMatchObject([
        `${PORTAL}/`,
        { returnTo: url, reason },
      ])
    }
    expect(portal.arrived).toHaveLength(count)
  })

  test('nobody opens an application of another host, or its stricter part, by headers or spellings', async () => {
    const ofPortal = await portal.signIn(AMELIA)
    const cookies = await cookiesAt(portal, WIKI_HOST, ofPortal)
    const { id, userId } = JSON.parse((await ask(`${PORTAL}/api/v1/sessions/me`, ofPortal)).text)
    const names = [...IDENTITY_HEADERS, ...OTHER_IDENTITY_HEADERS, 'X_Auth_Request_User', 'Authorization']
    const forged = names.flatMap((name) => [name, 'Bearer forged'])
    const count = portal.arrived.length
    const other = `https://${REPORTS_HOST}/`
    const asked = [
      await ask(`https://${WIKI_HOST}/`, '', ...forged),
      await ask(other, '', ...forged),
      await ask(other, cookies, ...forged),
      await ask(other, cookies, 'X-Forwarded-Host', WIKI_HOST),
      await ask(`${PORTAL}/app/`, cookies, 'X-Forwarded-Host', WIKI_HOST),
      await ask(`https://${WIKI_HOST}/forward-auth`, ''),
    ]
    expect(asked.map(({ status }) => (status === 404 ? 401 : status))).toEqual(asked.map(() => 401))
    expect(portal.arrived).toHaveLength(count)
    expect((await ask(`https://${WIKI_HOST}/`, cookies, ...forged)).status).toBe(200)
    const headers = portal.arrived.at(-1)?.headers ?? []
    const identity = headers.filter(([name, value]) => name.startsWith('x-auth') && value !== '')
    expect(identity.toSorted()).toEqual([
      ['x-auth-request-preferred-username', encodeURIComponent(AMELIA)],
      ['x-auth-request-session', id],
      ['x-auth-request-user', userId],
    ])

    const atReports = await cookiesAt(portal, REPORTS_HOST, ofPortal)
    const before = portal.arrived.length
    for (const path of [
      '/payroll/transfers/',
      '/x/../payroll/transfers/',
      '//payroll//transfers/',
      '/%70ayroll/%74ransfers/',
      '/payroll%2ftransfers/',
      '/x/%2e%2e/payroll/transfers/',
      '/x/..%2Fpayroll/transfers/',
      '/payroll/./transfers/',
    ]) {
      const { status } = await ask(`https://${REPORTS_HOST}${path}`, atReports)
      expect([path, status === 400 || status === 404 ? 401 : status]).toEqual([path, 401])
    }
    expect(portal.arrived).toHaveLength(before)
  })

  test('a request that names another host is not redirected, or returns to the portal', async () => {
    const forged = ['X-Forwarded-Uri', '//evil.example/', 'X-Forwarded-Host', 'evil.example']
    const headers = ['Sec-Fetch-Mode', 'navigate', ...forged]
    const back = `${SIGN_IN}${PORTAL}/app/`
    const count = portal.arrived.length
    const locationOf = async (path: string) =>
      (await portal.open(undefined, { path, headers })).headers.location
    expect(await locationOf('/app/')).toBe(back)
    for (const path of ['/app/#@evil.example', '/app/\\evil.example', 'https://evil.example/app/'])
      expect([path, ((await locationOf(path)) ?? back).slice(0, back.length)]).toEqual([path, back])
    expect(portal.arrived).toHaveLength(count)
  })
})

function askAt({ proxy }: Portal, url: string, cookies: string, ...headers: string[]) {
  const { host } = new URL(url)
  const path = url.slice(url.indexOf(host) + host.length) || '/' // as it is spelled
  return proxy.ask({ host, path, headers: ['Cookie', cookies, ...headers] })
}

const openAt = (portal: Portal, url: unknown, cookies: string) =>
  askAt(portal, String(url), cookies, 'Sec-Fetch-Mode', 'navigate', 'Sec-Fetch-Dest', 'document')

/** The cookies of a host, with a session of the portal. */
async function cookiesAt(portal: Portal, host: string, ofPortal: string): Promise<string> {
  const start = await openAt(portal, `https://${host}/forward-auth/start?returnTo=/`, '')
  const callback = await openAt(portal, start.headers.location, ofPortal)
  const completed = await openAt(portal, callback.headers.location, cookiesOf(start))
  return `${cookiesOf(start)}; ${cookiesOf(completed)}`
}

/** On a page of the portal. Returns the status. */
const signIn = (page: Page) =>
  page.evaluate(
    async (body) => {
      const headers = { 'Content-Type': 'application/json' }
      return (await fetch('/api/v1/authn', { method: 'POST', headers, body })).status
    },
    JSON.stringify({ username: AMELIA, password: PASSWORD }),
  )
