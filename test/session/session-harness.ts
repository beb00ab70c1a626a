import { randomUUID } from 'node:crypto'
import type { Request } from 'express'
import { storeUnavailable } from '../../src/errors.ts'
import { createRouteTable, runRequestHooks } from '../../src/http/routes.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createForwardAuthRoutes } from '../../src/session/forward-auth.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import { createOwnSessionsRoutes, createSessionRoutes } from '../../src/session/session-routes.ts'
import {
  createSessions,
  refuseOtherSession,
  type SessionGrant,
  type Sessions,
  withSession,
} from '../../src/session/sessions.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { type Answer, serve } from '../http/serve.ts'
import { collectLog } from '../observability/collect-log.ts'

export const IDLE_MS = 30 * 60_000
export const ABSOLUTE_MS = 12 * 3_600_000
export const EXTEND_EVERY_MS = 60_000
export const MAX_PER_USER = 4
export const START = Date.parse('2026-11-05T06:00:00Z')

export const GRANT: SessionGrant = {
  userId: '00u1person',
  login: 'ada@example.com',
  profile: { firstName: 'Ada', login: 'ada@example.com' },
  amr: ['pwd', 'otp', 'mfa'],
  loginHash: 'hash-of-login',
  deviceId: 'of-a-test',
  userAgent: 'Test/1',
}

export interface HarnessOptions {
  readonly secure?: boolean
  readonly sameSite?: 'lax' | 'strict'
}

/** The device of a request; empty: no device. Without this header, it is the device that opened the session of the cookie. */
export const DEVICE_HEADER = 'x-test-device'

/** Sessions behind a real HTTP server, on the embedded store, with a clock that the test controls. */
export async function startSessionHarness({ secure = true, sameSite = 'lax' }: HarnessOptions = {}) {
  const clock = { now: START }
  const now = () => clock.now
  const keyring = { keys: [Buffer.alloc(32, 1)] }
  const masterKeys = () => keyring.keys
  const entries = new Map<string, MemoryEntry>()
  const traffic = { writes: 0, reads: 0, unavailable: false, full: false }
  const store = countTraffic(createMemoryStore({ monotonic: now, entries }), traffic)
  const { log, lines } = collectLog()
  const metrics = createMetrics({ processMetrics: false })
  const cookie = createSessionCookie({ masterKeys, secure, sameSite })
  const devices = new Map<string, string>()
  const readDeviceId = (req: Request) => {
    const { [DEVICE_HEADER]: given } = req.headers
    if (given !== undefined) return given === '' ? undefined : String(given)
    return devices.get(cookie.readId(req) ?? '')
  }
  const sessions = createSessions({
    store,
    masterKeys,
    cookie,
    readDeviceId,
    idleMs: IDLE_MS,
    absoluteMs: ABSOLUTE_MS,
    extendEveryMs: EXTEND_EVERY_MS,
    maxPerUser: MAX_PER_USER,
    log,
    metrics,
    now,
  })
  const options = {
    publicOrigin: 'https://portal.example',
    sessions,
    endAllSessions: sessions.endAll,
    cookie,
    ensureDevice: () => undefined,
    log,
  }
  const routes = withSession(sessions, [
    ...createSessionRoutes(options),
    ...createOwnSessionsRoutes(options),
    ...createForwardAuthRoutes({ sessions, metrics }),
    {
      method: 'POST',
      path: '/open',
      async handle(req, res) {
        const deviceId = readDeviceId(req) ?? randomUUID()
        const { id } = await openSession(sessions, { ...GRANT, deviceId }, cookie.readId(req))
        devices.set(id, deviceId)
        res.append('Set-Cookie', cookie.setCookie(id)).json({ id })
      },
    },
    {
      method: 'GET',
      path: '/need',
      async handle(req, res) {
        res.json(await sessions.require(req))
      },
    },
    {
      method: 'GET',
      path: '/fail',
      async handle(req) {
        await sessions.require(req)
        throw new Error('after the session was read')
      },
    },
  ])
  const chunks = { written: 0 }
  const served = await serve({
    before: [
      function countChunks(_req, res, next) {
        const { write } = res
        res.write = ((...args: Parameters<typeof write>) => {
          chunks.written += 1
          return write.apply(res, args)
        }) as typeof write // its overloads differ only in optional parameters
        next()
      },
      runRequestHooks(createRouteTable(routes)),
      refuseOtherSession(sessions),
    ],
    routes,
  })
  const call = (method: string, path: string, cookieHeader?: string, headers = {}): Promise<Answer> =>
    served.ask({
      method,
      path,
      headers: { ...headers, ...(cookieHeader === undefined ? {} : { Cookie: cookieHeader }) },
    })

  return {
    ...served,
    call,
    /** Creates a session. Returns its `Cookie` header, its `Set-Cookie` header and its id. */
    async signIn(cookieHeader?: string) {
      const answer = await call('POST', '/open', cookieHeader)
      const [setCookie = ''] = answer.headers['set-cookie'] ?? []
      const { id } = answer.json as { id: string } // the response of `/open`
      return { cookieHeader: setCookie.split(';')[0] ?? '', setCookie, id }
    },
    clock,
    keyring,
    entries,
    traffic,
    chunks,
    sessions,
    /** The keys of session records, without those of the indexes. */
    stored: () => [...entries.keys()].filter((key) => key.startsWith('gatehouse:sess:')),
    cookie,
    metrics,
    log,
    lines,
    async close() {
      await served.close()
      await store.close()
    },
  }
}

/** Creates a session with all steps of a sign-in's commit. */
export async function openSession(
  { prepare }: Pick<Sessions, 'prepare'>,
  grant: SessionGrant,
  presentedId?: string,
) {
  const { id, publicId, write, bindDevice, replace } = prepare(grant)
  await write()
  await bindDevice()
  return { id, publicId, evicted: await replace(presentedId, true) }
}

function countTraffic(
  store: Store,
  traffic: { writes: number; reads: number; unavailable: boolean; full: boolean },
): Store {
  const record = (kind: 'reads' | 'writes') => {
    traffic[kind] += 1
    if (traffic.unavailable || (traffic.full && kind === 'writes'))
      throw storeUnavailable(new Error('unavailable'))
  }
  return {
    ...store,
    async get(key) {
      record('reads')
      return store.get(key)
    },
    async set(...args) {
      record('writes')
      return store.set(...args)
    },
    async swap(...args) {
      record('writes')
      return store.swap(...args)
    },
    async delete(key) {
      record('writes')
      return store.delete(key)
    },
    async indexAll(key) {
      record('reads')
      return store.indexAll(key)
    },
    async indexPut(...args) {
      record('writes')
      return store.indexPut(...args)
    },
    async indexRemove(...args) {
      record('writes')
      return store.indexRemove(...args)
    },
  }
}
