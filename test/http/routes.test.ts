import { afterEach, describe, expect, test } from '@jest/globals'
import { createApp } from '../../src/app.ts'
import { createSigner } from '../../src/crypto/keys.ts'
import { createTrustedProxies } from '../../src/http/request-context.ts'
import type { Route } from '../../src/http/routes.ts'
import type { Health } from '../../src/observability/health.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createOps } from '../../src/ops.ts'
import { createIdentityTokens } from '../../src/session/identity-token.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import { createSessions } from '../../src/session/sessions.ts'
import { createVoidTimes } from '../../src/session/void-times.ts'
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
  const keys = [Buffer.alloc(32, 7)]
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
    doctorProbes: {
      publicUrl: 'https://portal.example.com',
      signer: createSigner(keys, 'test'),
      now: Date.now,
    },
    maxRequestsInFlight: 1000,
    sessions: createSessions({
      store,
      masterKeys: keys,
      cookie: sessionCookie,
      readDeviceId: nobody,
      idleMs: 1000,
      absoluteMs: 1000,
      extendEveryMs: 1000,
      maxPerUser: 20,
      voidTimes: createVoidTimes({ store, masterKeys: keys, ttlMs: 1000, isUsed: false }),
      log,
      metrics,
      now: Date.now,
    }),
    cookie: sessionCookie,
    endAllSessions: nobody,
    ensureDevice: () => undefined,
    recentSignInMinutes: 15,
    now: Date.now,
    forwardAuth: {
      identityTokens: createIdentityTokens({ masterKeys: keys, issuer: '', now: Date.now }),
      jwtAudiences: [],
      now: Date.now,
    },
    orgEvents: {
      secrets: undefined,
      applyEvents: nobody,
      addressNames: createSigner(keys, 'test'),
      ...{ store, log, metrics, now: Date.now },
    },
    authn: {
      entrySteps: { primary: nobody, recovery: nobody, recoveryToken: nobody },
      steps: { state: nobody, operation: nobody },
      runStep: nobody,
      fetchOffered: { questions: nobody, picture: nobody },
      clientOf: nobody,
      sessionCookie: () => '',
    },
    navigation: {
      stepUp: { importToken: nobody },
      follow: nobody,
      returnTo: nobody,
      ssoTokens: { redeem: nobody },
      clientOf: nobody,
    },
    appRoutes: [],
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
    '/api/v1/thing',
    '/api/v1/things/',
    '//api/v1/things',
    '/API/v1/things',
    '/api/v1/things/1',
    '/api/v1/things;a=b',
    '/api/v1/x/../things',
    '/api/v1/%74hings',
    '/api/v1%2fthings',
    '/api/v1/things%00',
    '/__proto__',
  ])('%s', async (path) => {
    const { ask } = await publicListener()
    const answer = await ask({ path })
    expect(answer.status).toBe(404)
    expect(answer.json).toMatchObject({ ...notFound, errorId: answer.headers['x-request-id'] })
    expect(answer.text).not.toContain('things')
    expect(seen).toEqual([])
  })
})

describe('a path that cannot be decoded is 400', () => {
  test.each(['/api/v1/things/%/verify', '/api/v1/things/%ff/verify', '/api/v1/things/%c0%af/verify'])(
    '%s',
    async (path) => {
      const { ask } = await publicListener()
      const answer = await ask({ method: 'POST', path })
      expect(answer.status).toBe(400)
      expect(answer.json).toMatchObject({
        errorCode: 'E0000001',
        errorId: answer.headers['x-request-id'],
        errorCauses: [{ errorSummary: 'request: malformed' }],
      })
      expect(seen).toEqual([])
    },
  )

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
    ['OPTIONS', '/api/v1/things', 'GET, HEAD, DELETE'],
    ['GET', '/api/v1/things/1/verify', 'POST'],
    ['HEAD', '/api/v1/things/1/verify', 'POST'],
    ['POST', '/api/v1/sessions/me', 'GET, HEAD, DELETE'],
    ['GET', '/api/v1/sessions/me/lifecycle/refresh', 'POST'],
    ['POST', '/signin/step-up', 'GET'],
    ['HEAD', '/signin/step-up', 'GET'],
    ['POST', '/sso/idps/1', 'GET'],
  ])('with another method (%s %s) is 405 with Allow', async (method, path, allow) => {
    const { ask } = await publicListener()
    const answer = await ask({ method, path })
    expect([answer.status, answer.headers.allow]).toEqual([405, allow])
    if (method !== 'HEAD') expect(answer.json).toMatchObject({ errorCode: 'E0000022' })
    expect(seen).toEqual([])
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
  async function ops(readiness: Partial<ReturnType<Health['readiness']>> = {}) {
    const { log } = collectLog()
    const health = {
      readiness: () => ({ ready: true, draining: false, checks: { store: 'ok' as const }, ...readiness }),
    }
    const app = createOps({
      revision: 'unknown',
      health,
      metrics: createMetrics({ processMetrics: false }),
      sessions: {
        list: async () => [],
        formatTimes: () => ({ createdAt: '', lastSeenAt: '', expiresAt: '', idleExpiresAt: '' }),
      },
      endAllSessions: async () => 0,
      limits: { end: async () => {}, hashLogin: () => '' },
      opsToken: undefined,
      log,
    })
    return keep(await listenFor(app))
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
    const { ask } = await ops({ ready: false, checks: { store: 'failing' } })
    expect((await ask({ path: '/livez' })).status).toBe(200)
    const unready = await ask({ path: '/readyz' })
    expect([unready.status, unready.json]).toEqual([
      503,
      { ready: false, draining: false, checks: { store: 'failing' } },
    ])
    expect((await (await ops()).ask({ path: '/readyz' })).status).toBe(200)
  })

  test('metrics have the Prometheus format and Cache-Control: no-store', async () => {
    const { ask } = await ops()
    const answer = await ask({ path: '/metrics' })
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.text).toContain('# HELP gatehouse_sessions_opened_total Sessions opened')
  })
})
