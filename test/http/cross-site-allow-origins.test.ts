import { describe, expect, test } from '@jest/globals'
import { createCrossSiteRules } from '../../src/http/cross-site.ts'
import type { Route } from '../../src/http/route.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { collectLog } from '../observability/collect-log.ts'
import { useKeeper } from '../support/keeper.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

const PUBLIC = 'https://portal.example.com'
const SPA = 'https://spa.example.com'
let handled = 0
const routes: Route[] = (['GET', 'POST'] as const).map((method) => ({
  method,
  path: '/',
  handle(_req, res) {
    handled += 1
    res.json({})
  },
}))

async function site({ headers = [] as string[] } = {}) {
  handled = 0
  const { log, lines } = collectLog()
  const { allowOrigins } = createCrossSiteRules({
    origins: [PUBLIC, SPA],
    headers,
    sessionCookie: { isPresent: () => false },
    log,
    metrics: createMetrics(),
  })
  const reported = () => lines().map(({ event, origin }) => [event, origin])
  return { ...keep(await serve({ before: [allowOrigins], routes })), reported }
}
const PREFLIGHT = {
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'content-type,x-okta-user-agent-extended',
}
const OTHERS = [
  'https://evil.example',
  'null',
  `${SPA}.evil.example`,
  `https://evil${SPA.slice('https://'.length)}`,
  'http://spa.example.com',
  `${SPA}:8443`,
  'https://SPA.example.com',
  `${SPA}/`,
  '*',
]

describe('another origin gets no CORS headers', () => {
  // shows: V3.4.2
  test.each(OTHERS)('%s', async (Origin) => {
    const { ask, reported } = await site()
    const preflight = await ask({ method: 'OPTIONS', headers: { Origin, ...PREFLIGHT } })
    expect(preflight.headers['access-control-allow-origin']).toBeUndefined()
    expect(preflight.headers.vary).toMatch(/Origin/)
    expect([handled, reported()]).toEqual([0, [['origin_not_allowed', Origin]]])
    const answer = await ask({ headers: { Origin } })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    expect(answer.headers.vary).toMatch(/Origin/)
  })
})

describe('an allowed origin', () => {
  // shows: F-4.12, V3.4.2
  test.each([PUBLIC, SPA])('%s may send requests with credentials', async (Origin) => {
    const { ask } = await site()
    const { status, headers } = await ask({ method: 'OPTIONS', headers: { Origin, ...PREFLIGHT } })
    expect(status).toBe(204)
    expect(handled).toBe(0)
    expect(headers['access-control-allow-origin']).toBe(Origin)
    expect(headers['access-control-allow-credentials']).toBe('true')
    expect(headers['access-control-allow-methods']?.split(',')).toEqual(['GET', 'HEAD', 'POST', 'DELETE'])
    expect(headers['access-control-max-age']).toBe('600')
    expect(headers.vary).toMatch(/Origin/)
  })

  // shows: F-4.12
  test('may send the headers of the browser library, and no others', async () => {
    const { ask } = await site()
    const { headers } = await ask({ method: 'OPTIONS', headers: { Origin: SPA, ...PREFLIGHT } })
    const allowed = headers['access-control-allow-headers']?.split(',')
    for (const name of [
      'content-type',
      'accept',
      'accept-language',
      'x-okta-user-agent-extended',
      'x-device-fingerprint',
      'x-okta-xsrftoken',
      'x-gatehouse-session',
      'if-none-match',
    ]) {
      expect(allowed).toContain(name)
    }
    expect(allowed).not.toContain('authorization')
    expect(allowed).not.toContain('*')
    expect(allowed).not.toContain('x-forwarded-for')
  })

  test('may send the further headers of the configuration too', async () => {
    const { ask } = await site({ headers: ['traceparent', 'baggage'] })
    const { headers } = await ask({ method: 'OPTIONS', headers: { Origin: SPA, ...PREFLIGHT } })
    const allowed = headers['access-control-allow-headers']?.split(',')
    expect(allowed).toEqual(expect.arrayContaining(['content-type', 'traceparent', 'baggage']))
  })

  // shows: F-4.13
  test('can read the headers for rate limits, request id and freshness', async () => {
    const { ask } = await site()
    const { headers, status } = await ask({ headers: { Origin: SPA } })
    expect([status, handled]).toEqual([200, 1])
    expect(headers['access-control-allow-origin']).toBe(SPA)
    expect(headers['access-control-allow-credentials']).toBe('true')
    expect(headers['access-control-expose-headers']?.split(',')).toEqual([
      'X-Request-Id',
      'X-Rate-Limit-Limit',
      'X-Rate-Limit-Remaining',
      'X-Rate-Limit-Reset',
      'Retry-After',
      'ETag',
      'Age',
      'X-Gatehouse-Sign-Out',
      'Date',
    ])
  })
})

test('OPTIONS that is not a preflight is treated as an unknown method', async () => {
  const { ask } = await site()
  const answer = await ask({ method: 'OPTIONS', headers: { Origin: SPA } })
  expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, POST'])
})

test('a preflight without Origin is 204 without permission, and no origin is reported', async () => {
  const { ask, reported } = await site()
  const { status, headers } = await ask({ method: 'OPTIONS', headers: PREFLIGHT })
  expect(status).toBe(204)
  expect(headers['access-control-allow-origin']).toBeUndefined()
  expect([handled, reported()]).toEqual([0, []])
})

test('every response varies by both headers, for caches', async () => {
  const { ask } = await site()
  for (const headers of [{}, { Origin: SPA }, { Origin: 'https://evil.example' }]) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      const { vary } = (await ask({ method, headers })).headers
      expect(vary).toMatch(/Origin/)
      expect(vary).toMatch(/Sec-Fetch-Site/)
    }
  }
})
