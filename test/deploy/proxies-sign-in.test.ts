import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { AMELIA, PASSWORD } from '../support/harness.ts'
import { type Portal, startPortal } from '../support/portal.ts'
import { PORTAL, PORTAL_HOST, type ProxyName, SIGN_IN, WIKI_HOST } from '../support/proxies.ts'
import { SIGN_IN_PAGE } from '../support/proxy.ts'

/**
 * A user follows a deep link to the application, in Chromium, through the proxy examples of
 * `deploy/proxies/`.
 */

const NAMES: readonly ProxyName[] = ['nginx', 'Caddy', 'HAProxy']

describe.each(NAMES)('%s', (name) => {
  let portal: Portal
  let browser: Browser
  beforeAll(async () => {
    portal = await startPortal({ proxy: name })
    const hosts = [PORTAL_HOST, WIKI_HOST].map((host) => `MAP ${host}:443 127.0.0.1:${portal.proxy.port}`)
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

  // the other examples have no application on another host yet
  if (name === 'nginx')
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
      expect(headers.get('cookie')).toBeUndefined()
      expect(String(headers.get('referer'))).not.toContain('code=')
      const names = (await context.cookies(wiki)).map((cookie) => cookie.name)
      expect(names.toSorted()).toEqual(['__Host-gatehouse-app', '__Host-gatehouse-app-state'])

      await page.goto(`${wiki}/forward-auth`) // not reachable from outside
      expect(await page.textContent('body')).toContain('404')
      await page.goto(PORTAL)
      await page.evaluate(() => fetch('/api/v1/sessions/me', { method: 'DELETE' }))
      await page.goto(`${wiki}/page`)
      expect(page.url()).toContain(`${PORTAL}/?returnTo=`)
      await context.close()
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

/** On a page of the portal. Returns the status. */
const signIn = (page: Page) =>
  page.evaluate(
    async (body) => {
      const headers = { 'Content-Type': 'application/json' }
      return (await fetch('/api/v1/authn', { method: 'POST', headers, body })).status
    },
    JSON.stringify({ username: AMELIA, password: PASSWORD }),
  )
