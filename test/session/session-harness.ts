import { type Request, Router } from 'express'
import { v4 as uuid } from 'uuid'
import { noSession, storeUnavailable } from '../../src/errors.ts'
import { beginForwardAuth } from '../../src/forward-auth/begin-forward-auth.ts'
import {
  createForwardAuthRoutes,
  createKeySetRoutes,
  type ForwardAuthOptions,
} from '../../src/forward-auth/forward-auth.ts'
import { createIdentityTokens } from '../../src/forward-auth/identity-token.ts'
import type { Route } from '../../src/http/route.ts'
import { DependencyFailure } from '../../src/observability/dependency-failure.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createVoidTimes } from '../../src/org-events/void-times.ts'
import { createRevocation } from '../../src/revocation/create-revocation.ts'
import { createBoundSessionRoutes } from '../../src/session/bound-session-routes.ts'
import { type BoundSessionTimes, createBoundSessions } from '../../src/session/bound-sessions.ts'
import type { IdentifiedSession, Recheck } from '../../src/session/session.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import { createSessionGuards } from '../../src/session/session-guards.ts'
import { createSessionRecords } from '../../src/session/session-records.ts'
import { createOwnSessionsRoutes, createSessionRoutes } from '../../src/session/session-routes.ts'
import { createSessions, type Sessions } from '../../src/session/sessions.ts'
import { createSetSession } from '../../src/session/set-session.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { handlerOf, serve } from '../http/serve.ts'
import { collectLog } from '../observability/collect-log.ts'
import type { Answer } from '../support/ask-port.ts'
import { restartable } from '../support/restartable.ts'
import { GRANT, type SessionGrant, START } from './grant.ts'

export const IDLE_MS = 30 * 60_000
export const ABSOLUTE_MS = 12 * 3_600_000
export const EXTEND_EVERY_MS = 60_000
export const MAX_PER_USER = 4
export const RECENT_MINUTES = 15
/** Two of them on one host. */
export const ALLOWED_ORIGINS = [
  'https://spa.portal.example',
  'https://spa.portal.example:8443',
  'https://other.portal.example',
]
export const ISSUER = 'https://portal.example'
export const FIRST_KEY = Buffer.alloc(32, 1)
export interface HarnessOptions {
  readonly secure?: boolean
  readonly sameSite?: 'lax' | 'strict'
  readonly idleMs?: number
  readonly readAccess?: ForwardAuthOptions['readAccess']
  /** Whether the times are read from which on sessions are void. */
  readonly usesVoidTimes?: boolean
  readonly recheck?: Recheck
  readonly oktaSignOut?: string
  readonly signOutClears?: readonly ('cache' | 'storage')[]
  readonly refetchAccess?: (login: string) => Promise<void>
  /** DEVICE_BOUND_SESSIONS. */
  readonly bindsSessions?: boolean
  readonly boundTimes?: Partial<BoundSessionTimes>
}

/**
 * The device of a request; empty: no device. Without this header, it is the device that opened the
 * session of the cookie.
 */
export const DEVICE_HEADER = 'x-test-device'

/**
 * Sessions behind a real HTTP server, on the embedded store, with a clock that the test controls.
 */
export async function startSessionHarness(options: HarnessOptions = {}) {
  const { secure = true, sameSite = 'lax', idleMs = IDLE_MS, readAccess } = options
  const {
    usesVoidTimes = false,
    recheck,
    oktaSignOut,
    signOutClears = [],
    refetchAccess = async () => {},
    bindsSessions = false,
    boundTimes,
  } = options
  const clock = { now: START }
  const now = () => clock.now
  const entries = new Map<string, MemoryEntry>()
  const traffic: Traffic = { writes: 0, reads: 0, unavailable: false, refusesWritesWith: undefined }
  const store = countTraffic(createMemoryStore({ monotonic: now, entries }), traffic)
  const { log, lines } = collectLog()
  const metrics = createMetrics()
  const { object: sessionCookie, restartWith: restartCookie } = restartable([FIRST_KEY], (masterKeys) =>
    createSessionCookie({ masterKeys, secure, sameSite, httpOnlyPrefix: bindsSessions }),
  )
  const devices = new Map<string, string>()
  const idIn = (req: Request) => {
    const { [DEVICE_HEADER]: given } = req.headers
    if (given !== undefined) return given === '' ? undefined : String(given)
    return devices.get(sessionCookie.idIn(req) ?? '')
  }
  const { object: voidTimes, restartWith: restartVoidTimes } = restartable([FIRST_KEY], (masterKeys) =>
    createVoidTimes({ store, masterKeys, ttlMs: ABSOLUTE_MS, isUsed: usesVoidTimes }),
  )
  const { object: boundSessions, restartWith: restartBoundSessions } = restartable(
    [FIRST_KEY],
    (masterKeys) =>
      createBoundSessions({
        masterKeys,
        secure,
        allowedOrigins: ALLOWED_ORIGINS,
        isOffered: bindsSessions,
        times: boundTimes,
        log,
        metrics,
        now,
      }),
  )
  const { object: sessions, restartWith: restartSessions } = restartable([FIRST_KEY], (masterKeys) => {
    const sessionOptions = {
      store,
      masterKeys,
      sessionCookie,
      deviceCookie: { idIn },
      idleMs,
      absoluteMs: ABSOLUTE_MS,
      extendEveryMs: EXTEND_EVERY_MS,
      maxPerUser: MAX_PER_USER,
      voidTimes,
      boundSessions,
      recheck,
      log,
      metrics,
      now,
    }
    return createSessions(createSessionRecords(sessionOptions), sessionOptions)
  })
  const { endAllSessions } = createRevocation({
    store,
    masterKeys: [FIRST_KEY],
    sessions,
    refetchAccess,
    log,
    now,
  })
  const routesOptions = {
    publicOrigin: 'https://portal.example',
    sessions,
    endAllSessions,
    sessionCookie,
    boundSessions,
    oktaSignOut,
    signOutClears,
    deviceCookie: { ensure: () => undefined },
    recentSignInMinutes: RECENT_MINUTES,
    now,
    log,
  }
  const setSession = createSetSession({ sessionCookie, boundSessions })
  const { loadSession, refuseOtherSession } = createSessionGuards(sessions)
  const withSessions = (routes: readonly Route[]): Route[] =>
    routes.map((route) => ({ ...route, handle: handlerOf([refuseOtherSession, loadSession], route) }))
  const routes = withSessions([
    ...createSessionRoutes(routesOptions),
    ...createOwnSessionsRoutes(routesOptions),
    ...createBoundSessionRoutes({ ...routesOptions, store, metrics }),
    {
      method: 'POST',
      path: '/open',
      async handle(req, res) {
        const deviceId = idIn(req) ?? uuid()
        const { id } = await openSession({ sessions, clock }, { ...GRANT, deviceId }, sessionCookie.idIn(req))
        devices.set(id, deviceId)
        setSession(res, id)
        res.json({ id })
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
      // a mistake that the types forbid: the session is changed and signed out in one request
      method: 'DELETE',
      path: '/change',
      async handle(req, res) {
        const found = sessions.find(req)
        if (found === undefined) throw noSession()
        Object.assign(found.session, { login: 'changed@example.com' })
        await sessions.end(found, 'signed_out')
        res.status(204).end()
      },
    },
  ])
  const forwardAuthOptions: ForwardAuthOptions = {
    sessions,
    identityTokens: createIdentityTokens({ masterKeys: [FIRST_KEY], issuer: ISSUER, now }),
    jwtAudiences: ['reports', 'billing'],
    readAccess,
    knownValues: { amr: ['pwd', 'otp', 'hwk', 'mfa'], role: ['end_user', 'resource_admin'] },
    log,
    now,
  }
  const forwardAuth = Router({ caseSensitive: true, strict: true }) // as the application
  for (const { path, handle } of withSessions(createForwardAuthRoutes(forwardAuthOptions)))
    forwardAuth.route(path).all(beginForwardAuth(metrics), handle)
  const served = await serve({
    before: [forwardAuth],
    routes: [...routes, ...createKeySetRoutes(forwardAuthOptions)],
    metrics,
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
      const registration = answer.headers['secure-session-registration']
      return {
        cookieHeader: setCookie.split(';')[0] ?? '',
        setCookie,
        id,
        registration: String(registration),
      }
    },
    clock,
    restartWith(...keys: readonly Buffer[]) {
      restartCookie(...keys)
      restartVoidTimes(...keys)
      restartBoundSessions(...keys)
      restartSessions(...keys)
    },
    store,
    entries,
    traffic,
    sessions,
    endAllSessions,
    voidTimes,
    /** The keys of session records, without those of the indexes. */
    stored: () => [...entries.keys()].filter((key) => key.startsWith('gatehouse:sess:')),
    sessionCookie,
    boundSessions,
    metrics,
    log,
    lines,
    async close() {
      await served.close()
      await store.close()
    },
  }
}

/** What opens a session. */
export interface Opener {
  readonly sessions: Pick<Sessions, 'opening'>
  readonly clock: { readonly now: number }
}

/** A session of this moment. Nothing is written yet. */
export function newSession({ sessions, clock: { now } }: Opener, grant: SessionGrant): IdentifiedSession {
  const times = { createdAtMs: now, authenticatedAtMs: now, lastSeenAtMs: now }
  return {
    id: sessions.opening.newId(grant.userId),
    session: { ...grant, publicId: uuid(), ...times },
  }
}

/** Creates a session with all steps of a sign-in's commit. */
export async function openSession(opener: Opener, grant: SessionGrant, presentedId?: string) {
  const { opening } = opener.sessions
  const opened = newSession(opener, grant)
  const entries = await opening.write(opened)
  await opening.replace(opened, await opening.takeDevice(opened), presentedId, true)
  const evicted = await opening.evict(opened, entries)
  return { id: opened.id, publicId: opened.session.publicId, evicted }
}

const COUNTED: Readonly<Record<string, 'reads' | 'writes'>> = {
  get: 'reads',
  replaceIf: 'writes',
  indexAll: 'reads',
  set: 'writes',
  raise: 'writes',
  swap: 'writes',
  delete: 'writes',
  deleteAll: 'writes',
  indexPut: 'writes',
  countAttempt: 'writes',
  indexRemove: 'writes',
}

interface Traffic {
  writes: number
  reads: number
  /** Fails every operation. */
  unavailable: boolean
  /** Redis's error code for every write, such as `OOM`. */
  refusesWritesWith: string | undefined
}

function countTraffic(store: Store, traffic: Traffic): Store {
  const get = (target: Store, name: string) => {
    const operation = Reflect.get(target, name)
    const kind = COUNTED[name]
    if (kind === undefined) return operation
    return async (...given: unknown[]) => {
      traffic[kind] += 1
      if (traffic.unavailable) throw storeUnavailable(new Error('unavailable'))
      const code = kind === 'writes' ? traffic.refusesWritesWith : undefined
      if (code !== undefined) throw storeUnavailable(new DependencyFailure('refused', { code }))
      return operation(...given)
    }
  }
  return { ...new Proxy(store, { get: (target, name) => get(target, String(name)) }) }
}
