import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { AMELIA, PASSWORD } from '../support/harness.ts'
import { type Portal, startPortal } from '../support/portal.ts'
import { PORTAL, PORTAL_HOST, type ProxyName, SIGN_IN } from '../support/proxies.ts'
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
    browser = await openChromium(
      `--host-resolver-rules=MAP ${PORTAL_HOST}:443 127.0.0.1:${portal.proxy.port}`,
    )
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
    const status = await page.evaluate(
      async (body) => {
        const headers = { 'Content-Type': 'application/json' }
        return (await fetch('/api/v1/authn', { method: 'POST', headers, body })).status
      },
      JSON.stringify({ username: AMELIA, password: PASSWORD }),
    )
    expect(status).toBe(200)
    await page.goto(`${PORTAL}/signin${arrivedAt.search}${arrivedAt.hash}`)
    expect(await page.textContent('body')).toBe('the application')
    expect(portal.arrived.map(({ url }) => url).at(0)).toBe(path)
    expect(page.url()).toBe(`${PORTAL}${path}#totals`)
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
