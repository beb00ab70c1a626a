import { afterEach, describe, expect, test } from '@jest/globals'
import { createApp } from '../../src/app.ts'
import { defaultTunables } from '../../src/config/load-config.ts'
import { createSigner } from '../../src/crypto/keys.ts'
import { createTrustedProxies } from '../../src/http/request-context.ts'
import type { Route } from '../../src/http/routes.ts'
import { createHealth } from '../../src/observability/health.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createOps } from '../../src/ops.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import { createSessions } from '../../src/session/sessions.ts'
import { createMemoryStore } from '../../src/store/memory-store.ts'
import { collectLog } from '../observability/collect-log.ts'
import { keeper, listenFor, serve } from './serve.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const seen: unknown[] = []
const route = (method: Route['method'], path: string): Route => ({
  method,
  path,
  handle(req, res) {
    seen.push([method, path, req.params])
    res.json({ method, path })
  },
})

/** The public listener as in production, with additional routes of this test. */
async function publicListener() {
  seen.length = 0
  const { log } = collectLog()
  const metrics = createMetrics({ processMetrics: false })
  const keys = () => [Buffer.alloc(32, 7)]
  const store = createMemoryStore()
  const sessionCookie = createSessionCookie({ masterKeys: keys, secure: true, sameSite: 'lax' })
  const nobody = () => {
    throw new Error('not asked in these tests')
  }
  const app = createApp({
    publicOrigin: 'https://portal.example.com',
    secure: true,
    allowedOrigins: [],
    isTrustedProxy: createTrustedProxies([]),
    doctorProbes: { signer: createSigner(keys, 'test'), now: Date.now },
    limits: { ...defaultTunables().http, bodyLimitBytes: 1000 },
    logThrottle: defaultTunables().log.throttle,
    lag: { ms: 0 },
    sessions: createSessions({
      store,
      masterKeys: keys,
      cookie: sessionCookie,
      readDeviceId: nobody,
      idleMs: 1000,
      absoluteMs: 1000,
      extendEveryMs: 1000,
      maxPerUser: 20,
      log,
      metrics,
      now: Date.now,
    }),
    cookie: sessionCookie,
    endAllSessions: nobody,
    ensureDevice: () => undefined,
    authn: {
      steps: { state: nobody, operation: nobody },
      sendStep: nobody,
      recovery: { start: nobody },
      audit: { started: nobody, recoveryStarted: nobody },
      runStep: nobody,
      fetchOffered: { questions: nobody, picture: nobody },
      clientOf: nobody,
      sessionCookie: () => '',
      deviceRoutes: [],
    },
    navigation: {
      stepUp: { importToken: nobody },
      follow: nobody,
      ssoTokens: { redeem: nobody },
      clientOf: nobody,
    },
    pamRoutes: [
      route('GET', '/api/v1/things'),
      route('DELETE', '/api/v1/things'),
      route('POST', '/api/v1/things/:id/verify'),
    ],
    log,
    metrics,
  })
  keep(store)
  return keep(await listenFor(app))
}

const notFound = { errorCode: 'E0000007', errorLink: 'E0000007', errorCauses: [] }

describe('a path that does not match exactly is 404', () => {
  test.each([
    '/',
    '/api',
    '/api/v1',
    '/api/v1/thing',
    '/api/v1/things/',
    '/api/v1/things//',
    '//api/v1/things',
    '/api/v1//things',
    '/API/v1/things',
    '/api/v1/Things',
    '/api/v1/things/1',
    '/api/v1/things;a=b',
    '/api/v1/./things',
    '/api/v1/x/../things',
    '/api/v1/%74hings',
    '/api/v1/things%2f',
    '/api/v1%2fthings',
    '/api/v1/things%00',
    '/api/v1/things%20',
    '/__proto__',
    '/favicon.ico',
  ])('%s', async (path) => {
    const { ask } = await publicListener()
    const answer = await ask({ path })
    expect(answer.status).toBe(404)
    expect(answer.json).toMatchObject({ ...notFound, errorId: answer.headers['x-request-id'] })
    expect(answer.text).not.toContain('things')
    expect(seen).toEqual([])
  })

  test('with any method', async () => {
    const { ask } = await publicListener()
    for (const method of ['HEAD', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'PROPFIND']) {
      expect((await ask({ method, path: '/api/v1/nothing' })).status).toBe(404)
    }
  })
})

describe('a path that cannot be decoded is 400', () => {
  test.each([
    '/api/v1/things/%/verify',
    '/api/v1/things/%zz/verify',
    '/api/v1/things/%ff/verify',
    '/api/v1/things/%c0%af/verify',
  ])('%s', async (path) => {
    const { ask } = await publicListener()
    const answer = await ask({ method: 'POST', path })
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({ errorCode: 'E0000001', errorId: answer.headers['x-request-id'] })
    expect(seen).toEqual([])
  })

  test('an encoded slash does not split a path segment', async () => {
    const { ask } = await publicListener()
    for (const id of ['%00', '%2f', '%2e%2e', '..', '%3f', '%25', '%F0%9F%98%80']) {
      seen.length = 0
      await ask({ method: 'POST', path: `/api/v1/things/${id}/verify` })
      expect(seen).toEqual([['POST', '/api/v1/things/:id/verify', { id: decodeURIComponent(id) }]])
    }
  })
})

describe('a listed path', () => {
  test.each([
    ['POST', '/api/v1/things', 'GET, HEAD, DELETE'],
    ['PUT', '/api/v1/things', 'GET, HEAD, DELETE'],
    ['PATCH', '/api/v1/things', 'GET, HEAD, DELETE'],
    ['OPTIONS', '/api/v1/things', 'GET, HEAD, DELETE'],
    ['PROPFIND', '/api/v1/things', 'GET, HEAD, DELETE'],
    ['GET', '/api/v1/things/1/verify', 'POST'],
    ['HEAD', '/api/v1/things/1/verify', 'POST'],
    ['OPTIONS', '/api/v1/things/1/verify', 'POST'],
    ['GET', '/api/v1/authn', 'POST'],
    ['POST', '/api/v1/sessions/me', 'GET, HEAD, DELETE'],
    ['GET', '/api/v1/sessions/me/lifecycle/refresh', 'POST'],
    ['POST', '/signin/step-up', 'GET'],
    ['HEAD', '/signin/step-up', 'GET'],
    ['POST', '/sso/idps/1', 'GET'],
    ['HEAD', '/sso/idps/1', 'GET'],
  ])('with another method (%s %s) is 405 with Allow', async (method, path, allow) => {
    const { ask } = await publicListener()
    const answer = await ask({ method, path })
    expect([answer.status, answer.headers.allow]).toEqual([405, allow])
    if (method !== 'HEAD') expect(answer.json).toMatchObject({ errorCode: 'E0000022' })
    expect(seen).toEqual([])
  })

  test('HEAD is GET without a body', async () => {
    const { ask } = await publicListener()
    const get = await ask({ path: '/api/v1/things' })
    const head = await ask({ method: 'HEAD', path: '/api/v1/things' })
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
  })

  test('is found with any query', async () => {
    const { ask } = await publicListener()
    for (const query of [
      '?',
      '?a=b',
      '?%',
      '?%zz=%ff',
      '?__proto__=1&constructor=2',
      `?${'a=b&'.repeat(1500)}`,
    ]) {
      expect((await ask({ path: `/api/v1/things${query}` })).status).toBe(200)
    }
  })

  test('a preflight does not call its route', async () => {
    const { ask } = await publicListener()
    const headers = { Origin: 'https://portal.example.com', 'Access-Control-Request-Method': 'DELETE' }
    expect((await ask({ method: 'OPTIONS', path: '/api/v1/things', headers })).status).toBe(204)
    expect(seen).toEqual([])
  })
})

describe('odd requests', () => {
  test('the host of an absolute request target is ignored', async () => {
    const { raw } = await publicListener()
    const get = (target: string) => raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(await get('http://evil.example/api/v1/things')).toMatch(/^HTTP\/1\.1 (200|404) /)
    expect(await get('*')).toMatch(/^HTTP\/1\.1 40[04] /)
  })

  test('invalid HTTP is refused without naming the software', async () => {
    const { raw } = await publicListener()
    for (const bytes of ['nonsense\r\n\r\n', 'GET /\u0000 HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const answer = await raw(bytes)
      expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      expect(answer).not.toMatch(/at |node_modules|Error:/)
    }
  })

  test('a request without Host is served', async () => {
    const { raw } = await publicListener()
    expect(await raw('GET /api/v1/things HTTP/1.1\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('no header names the software', async () => {
    const { ask } = await publicListener()
    for (const path of ['/api/v1/things', '/nowhere']) {
      const { headers } = await ask({ path })
      expect(headers).not.toHaveProperty('x-powered-by')
      expect(headers).not.toHaveProperty('server')
    }
  })
})

test('a route that throws gets an Error object, and later routes are not called', async () => {
  const { ask } = keep(
    await serve({
      routes: [
        {
          method: 'GET',
          path: '/x',
          handle() {
            throw new Error('x')
          },
        },
        route('GET', '/:any'),
      ],
    }),
  )
  seen.length = 0
  expect((await ask({ path: '/x' })).status).toBe(500)
  expect(seen).toEqual([])
})

describe('the ops listener', () => {
  async function ops(checks: Parameters<typeof createHealth>[0] = []) {
    const { log } = collectLog()
    const health = createHealth(checks, log)
    const app = createOps({
      health,
      metrics: createMetrics({ processMetrics: false }),
      sessions: {
        list: async () => [],
        formatTimes: () => ({ createdAt: '', lastSeenAt: '', expiresAt: '', idleExpiresAt: '' }),
      },
      endAllSessions: async () => 0,
      limits: { end: async () => {}, hashLogin: () => '' },
      opsToken: () => undefined,
      log,
    })
    return { ...keep(await listenFor(app)), health }
  }

  test.each(['/', '/LIVEZ', '/livez/', '/metrics/', '/admin/users/00u1/sessions', '/%', '/%00'])(
    '%s is 404',
    async (path) => {
      const { ask } = await ops()
      const answer = await ask({ path })
      expect([answer.status, answer.json]).toEqual([404, expect.objectContaining(notFound)])
    },
  )

  test('an unknown method', async () => {
    const { ask } = await ops()
    const answer = await ask({ method: 'POST', path: '/readyz' })
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD'])
  })

  test('/livez is 200 while the process runs; /readyz depends on readiness', async () => {
    const checks = [{ name: 'store', run: () => Promise.reject(new Error('very-secret')) }]
    const { ask } = await ops(checks)
    expect((await ask({ path: '/livez' })).status).toBe(200)
    const unready = await ask({ path: '/readyz' })
    expect([unready.status, unready.json]).toEqual([
      503,
      { ready: false, draining: false, checks: { store: 'failing' } },
    ])
    const healthy = await ops()
    expect((await healthy.ask({ path: '/readyz' })).status).toBe(200)
    healthy.health.drain()
    expect((await healthy.ask({ path: '/readyz' })).status).toBe(503)
    expect((await healthy.ask({ path: '/livez' })).status).toBe(200)
  })

  test('metrics have the Prometheus format and Cache-Control: no-store', async () => {
    const { ask } = await ops()
    const answer = await ask({ path: '/metrics' })
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.text).toContain('# HELP gatehouse_sessions_opened_total Sessions opened')
  })
})
