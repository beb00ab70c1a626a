import { request } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { AMELIA, type Harness, startHarness } from '../support/harness.ts'
import { openPage } from '../support/portal-page.ts'

/** Response headers, cookies and methods of the whole app that belong to no single route. */
let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())
beforeEach(() => {
  harness.sandbox.reset()
})

test('sign-out sends Clear-Site-Data', async () => {
  const page = await openPage(harness)
  await page.signIn(AMELIA)
  const answer = await page.browser.delete('/api/v1/sessions/me')
  expect(answer.status).toBe(204)
  expect(answer.headers.get('clear-site-data')).toBe('"cache", "storage"')
})

test('both cookies are host-only, HttpOnly and SameSite, have different names, and stay far below 4096 bytes', async () => {
  const browser = openBrowser(harness.gatehouse.url)
  const first = await browser.get('/api/v1/sessions/me')
  const signedIn = await (await openPage(harness, browser)).signIn(AMELIA)
  const cookies = [...first.setCookies, ...signedIn.setCookies]
  expect(cookies.map((cookie) => cookie.split('=', 1)[0]).sort()).toEqual(['gatehouse', 'gatehouse-device'])
  for (const cookie of cookies) {
    expect(cookie).toMatch(/; Path=\/(;|$)/)
    expect(cookie).toMatch(/; HttpOnly(;|$)/)
    expect(cookie).toMatch(/; SameSite=Lax(;|$)/)
    expect(cookie).not.toMatch(/; Domain=/i)
    expect(Buffer.byteLength(cookie)).toBeLessThan(512)
  }
})

test('every body has a content type with its charset, on both listeners', async () => {
  const { url, opsUrl } = harness.gatehouse
  for (const address of [`${url}/api/v1/sessions/me`, `${url}/nowhere`, `${opsUrl}/openapi.json`]) {
    const answer = await fetch(address)
    expect([address, answer.headers.get('content-type')]).toEqual([
      address,
      'application/json; charset=utf-8',
    ])
  }
  const metrics = await fetch(`${opsUrl}/metrics`)
  expect(metrics.headers.get('content-type')).toMatch(/^text\/plain;.*charset=utf-8/)
})

test('TRACE is refused and echoes nothing', async () => {
  const { hostname, port } = new URL(harness.gatehouse.url)
  const answer = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const headers = { 'X-Echo-Test': 'echo-test', 'Sec-Fetch-Site': 'same-origin' }
    request({ hostname, port, method: 'TRACE', path: '/api/v1/authn', headers }, (res) => {
      let text = ''
      res.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      res.on('end', () => resolve({ status: res.statusCode, text }))
    })
      .on('error', reject)
      .end()
  })
  expect(answer.status).toBe(405)
  expect(answer.text).not.toContain('echo-test')
})
