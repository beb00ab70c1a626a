import { describe, expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import { BrokerError } from '../../src/errors.ts'
import { type Guard, guarded } from '../../src/http/compose-guards.ts'
import { createCrossSiteRules } from '../../src/http/cross-site.ts'
import { setRequestContext } from '../../src/http/request-context.ts'
import type { Route } from '../../src/http/route.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { collectLog } from '../observability/collect-log.ts'
import { useKeeper } from '../support/keeper.ts'
import { handlerOf, serve } from './serve.ts'

const keep = useKeeper()

const PUBLIC = 'https://portal.example.com'
const SPA = 'https://spa.example.com'
const SIBLING = 'https://other.example.com'
/** Whose pages may read a path without an allowed origin. */
const PATHS = { '/': undefined, '/image': 'same-site', '/navigation': 'any-site' } as const
let handled = 0
const routes = Object.keys(PATHS).flatMap((path) =>
  (['GET', 'POST', 'DELETE'] as const).map(
    (method): Route => ({
      method,
      path,
      handle(_req, res) {
        handled += 1
        res.json({ passed: true })
      },
    }),
  ),
)

function createRules() {
  handled = 0
  const metrics = createMetrics()
  const { log, lines } = collectLog()
  const rules = createCrossSiteRules({
    origins: [PUBLIC, SPA],
    headers: [],
    sessionCookie: { isPresent: (req) => req.headers.cookie?.includes('session=') === true },
    log,
    metrics,
  })
  return {
    rules,
    reported: () => lines().flatMap(({ event, origin }) => (event === 'origin_not_allowed' ? [origin] : [])),
    audited: () => lines().filter(({ audit }) => audit === true),
    counted: async () =>
      (await metrics.requestsRefused.get()).values.find(({ labels }) => labels.reason === 'cross_site')
        ?.value ?? 0,
  }
}

async function serveGuarded() {
  const { rules, ...rest } = createRules()
  const guardedRoutes = routes.map((route) => ({
    ...route,
    handle: handlerOf(guardsOfReads(rules, route), route),
  }))
  const served = keep(await serve({ before: [rules.refuseUnsafe], routes: guardedRoutes }))
  return { ...served, ...rest }
}

type CrossSiteRules = ReturnType<typeof createCrossSiteRules>

function guardsOfReads({ refuseReads, refuseImageReads }: CrossSiteRules, { method, path }: Route): Guard[] {
  if (method !== 'GET' || path === '/navigation') return []
  return [path === '/image' ? refuseImageReads : refuseReads]
}

/** The status of a request that is checked by the rules only, without a server. */
function statusWith(rules: CrossSiteRules) {
  return ({ method, path, headers }: Pick<Request, 'method' | 'path' | 'headers'>): number => {
    const req = { method, headers } as Request
    const res = { json() {}, setHeader() {} } as unknown as Response
    setRequestContext(req, res, { requestId: 'a request', isFromProxy: false, address: '192.0.2.1' })
    const route = routes.find(
      (one) => one.path === path && one.method === (method === 'HEAD' ? 'GET' : method),
    )
    let status = 404
    try {
      rules.refuseUnsafe(req, res, () => {
        status = 200
      })
      if (route !== undefined) guarded(guardsOfReads(rules, route), route.handle)(req, res, () => undefined)
      return status
    } catch (error) {
      return error instanceof BrokerError ? error.status : 500
    }
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'DELETE'] as const
const SITES = [
  undefined,
  'same-origin',
  'none',
  'same-site',
  'cross-site',
  'nonsense',
  'Same-Origin',
  '',
] as const
const ORIGINS = [
  undefined,
  PUBLIC,
  SPA,
  SIBLING,
  'https://evil.example',
  'null',
  `${PUBLIC}.evil.example`,
  `${PUBLIC}:444`,
  'http://portal.example.com',
  'https://PORTAL.example.com',
  `${PUBLIC}/`,
  '',
] as const

/** The rules for cross-site requests as a table. */
function expected(
  { method, path }: { method: string; path: keyof typeof PATHS },
  site: string | undefined,
  origin: string | undefined,
  cookie: boolean,
) {
  const isAllowed = origin === PUBLIC || origin === SPA
  if (site === 'same-origin' || site === 'none' || isAllowed) return 200
  if (method === 'GET' || method === 'HEAD') {
    if (site === undefined || PATHS[path] === 'any-site') return 200
    return site === 'same-site' && PATHS[path] === 'same-site' ? 200 : 403
  }
  if (origin !== undefined || site !== undefined) return 403
  return cookie ? 403 : 200
}

// shows: V3.5.1, V3.5.2
test.each(Object.keys(PATHS) as (keyof typeof PATHS)[])(
  '%s: every method × Sec-Fetch-Site × Origin × cookie',
  async (path) => {
    const { rules, counted } = createRules()
    const statusOf = statusWith(rules)
    let refused = 0
    for (const method of METHODS) {
      for (const site of SITES) {
        for (const origin of ORIGINS) {
          for (const cookie of [false, true]) {
            const headers = {
              ...(site === undefined ? {} : { 'sec-fetch-site': site }),
              ...(origin === undefined ? {} : { origin }),
              ...(cookie ? { cookie: 'a=b; session=1' } : {}),
            }
            const before = handled
            const status = statusOf({ method, path, headers })
            const wanted = expected({ method, path }, site, origin, cookie)
            const cell = { method, site, origin, cookie }
            expect({ ...cell, status, done: handled - before }).toEqual({
              ...cell,
              status: wanted,
              done: wanted === 200 ? 1 : 0,
            })
            if (wanted !== 200) refused += 1
          }
        }
      }
    }
    expect(await counted()).toBe(refused)
  },
)

test('an origin that is not allowed is logged at its first GET, whether that is refused or not', async () => {
  const { ask, reported } = await serveGuarded()
  await ask({ headers: { Origin: SIBLING, 'Sec-Fetch-Site': 'same-site' } })
  await ask({ headers: { Origin: 'https://evil.example' } }) // a browser without Fetch metadata
  await ask({ method: 'POST', headers: { Origin: 'null' } })
  await ask({ headers: { Origin: SPA, 'Sec-Fetch-Site': 'same-site' } })
  await ask({ headers: { 'Sec-Fetch-Site': 'cross-site' } })
  // a proxy's sub-request has the headers of the application's request
  await ask({ path: '/navigation', headers: { Origin: SIBLING } })
  await ask({}) // neither header
  await ask({ method: 'POST', headers: { 'Sec-Fetch-Site': 'cross-site' } })
  expect(reported()).toStrictEqual([SIBLING, 'https://evil.example', 'null'])
})

describe('a refusal names the header and the setting', () => {
  test.each([
    [
      { Origin: 'https://evil.example' },
      'Origin: https://evil.example is neither PUBLIC_URL nor one of ALLOWED_ORIGINS',
    ],
    [{ 'Sec-Fetch-Site': 'cross-site' }, 'Sec-Fetch-Site: cross-site without an Origin header'],
    [
      { Cookie: 'session=1' },
      'Origin: a request with a session cookie needs an Origin or Sec-Fetch-Site header',
    ],
  ])('%j', async (headers, errorSummary) => {
    const { ask, counted, audited } = await serveGuarded()
    const answer = await ask({ method: 'POST', headers })
    expect(answer.status).toBe(403)
    expect(answer.json).toMatchObject({ errorCode: 'E0000006', errorCauses: [{ errorSummary }] })
    expect(await counted()).toBe(1)
    const origin = 'Origin' in headers ? headers.Origin : undefined
    expect(audited()).toMatchObject([
      {
        event: 'cross_site_refused',
        requestId: answer.headers['x-request-id'],
        address: '127.0.0.1',
        method: 'POST',
        reason: origin === undefined ? 'origin_missing' : 'origin_not_allowed',
      },
    ])
    expect(audited()[0]?.origin).toBe(origin)
  })

  // shows: V1.2.1
  test('a header of the request is shown shortened and in visible ASCII only', async () => {
    const { ask } = await serveGuarded()
    const answer = await ask({
      method: 'POST',
      headers: { Origin: `https://\u00e4\u0085\u001b`.replace('\u001b', '\t') + 'x'.repeat(5000) },
    })
    expect(answer.status).toBe(403)
    expect(answer.text).toMatch(/^[\x20-\x7e]*$/)
    expect(answer.text.length).toBeLessThan(500)
  })
})

test('two Sec-Fetch-Site headers are refused', async () => {
  const { ask } = await serveGuarded()
  const headers = { 'Sec-Fetch-Site': ['same-origin', 'same-origin'] }
  expect((await ask({ method: 'POST', headers })).status).toBe(403)
})

test('unknown methods are treated as unsafe', async () => {
  const { ask } = await serveGuarded()
  for (const method of ['PUT', 'PATCH', 'PROPFIND', 'TRACE']) {
    expect((await ask({ method, headers: { Origin: 'https://evil.example' } })).status).toBe(403)
  }
})

test('OPTIONS is a safe method and passes', () => {
  const statusOf = statusWith(createRules().rules)
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  expect(statusOf({ method: 'OPTIONS', path: '/', headers })).toBe(200)
})
