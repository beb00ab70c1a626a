import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { askPort } from '../support/ask-port.ts'
import { useHarness } from '../support/harness.ts'

/** Response headers, cookies and methods of the whole app that belong to no single route. */
const ME = '/api/v1/sessions/me'
const AUTHN = '/api/v1/authn'

const harness = useHarness()

// shows: V4.1.1
test('every body has a content type with its charset, on both listeners; the ops listener serves the OpenAPI document', async () => {
  const { url, opsUrl } = harness.gatehouse
  for (const address of [`${url}/api/v1/sessions/me`, `${url}/nowhere`, `${opsUrl}/openapi.json`]) {
    const answer = await fetch(address)
    expect([address, answer.headers.get('content-type')]).toEqual([
      address,
      'application/json; charset=utf-8',
    ])
  }
  const document = await (await fetch(`${opsUrl}/openapi.json`)).json()
  expect(document).toEqual(JSON.parse(readFileSync('docs/openapi.json', 'utf8')))
  const metrics = await fetch(`${opsUrl}/metrics`)
  expect(metrics.headers.get('content-type')).toMatch(/^text\/plain;.*charset=utf-8/)
})

// shows: V13.4.4
test('TRACE is refused and echoes nothing', async () => {
  const headers = { 'X-Echo-Test': 'echo-test', 'Sec-Fetch-Site': 'same-origin' }
  const port = Number(new URL(harness.gatehouse.url).port)
  const { status, text } = await askPort(port, { method: 'TRACE', path: AUTHN, headers })
  expect(status).toBe(405)
  expect(text).not.toContain('echo-test')
})

/**
 * Responses of every kind: success, refusals of routes and of middleware, and errors before any
 * middleware.
 */
const REQUESTS: Readonly<Record<string, Parameters<typeof askPort>[1]>> = {
  'a route': { path: ME },
  HEAD: { path: ME, method: 'HEAD' },
  'an unknown path': { path: '/nowhere' },
  'an unknown method': { path: ME, method: 'PUT' },
  'a preflight': {
    path: ME,
    method: 'OPTIONS',
    headers: { Origin: 'https://portal.example.com', 'Access-Control-Request-Method': 'POST' },
  },
  'cross-site': { path: AUTHN, method: 'POST', headers: { 'Sec-Fetch-Site': 'cross-site' } },
  'not JSON': { path: AUTHN, method: 'POST', headers: { 'Content-Type': 'application/json' }, body: 'x' },
  'an HTML error page': { path: '/sso/idps/1', headers: { Accept: 'text/html' } },
}

// shows: V3.2.1, V3.4.1, V3.4.3, V3.4.4, V3.4.5, V3.4.6, V3.7.1, V14.2.2, V14.3.2
test('every response has the security headers, is not cached, varies by Origin and names no software', async () => {
  const { url } = await harness.replica({ PUBLIC_URL: 'https://portal.example.com', ALLOWED_ORIGINS: '' })
  for (const [name, request] of Object.entries(REQUESTS)) {
    const { headers } = await askPort(Number(new URL(url).port), request)
    expect([name, headers]).toEqual([
      name,
      expect.objectContaining({
        'content-security-policy':
          "default-src 'none';frame-ancestors 'none';base-uri 'none';form-action 'none'",
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'strict-transport-security': 'max-age=31536000',
        vary: expect.stringMatching(/\bOrigin\b/),
      }),
    ])
    for (const banner of ['server', 'x-powered-by', 'via'])
      expect([name, headers]).not.toHaveProperty(`1.${banner}`)
    expect(JSON.stringify(headers)).not.toMatch(/express|node/i)
  }
})
