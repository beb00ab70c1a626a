import type { Request, RequestHandler } from 'express'
import type { Session as ExpressSession } from 'express-session'
import { v4 as uuid } from 'uuid'
import { noSession, otherUsersSession, sessionChanged } from '../errors.ts'
import type { Route } from '../http/routes.ts'
import { allSettledOrThrow } from '../store/store.ts'
import {
  createSessionStore,
  formatTimes,
  newSessionId,
  remainingMs,
  type Session,
  SessionEnded,
  type SessionStore,
  type SessionsOptions,
} from './session.ts'
import {
  createDeviceBinding,
  createDeviceSessions,
  createLoadSession,
  type DeviceBinding,
  type DeviceSessions,
  type DeviceSwap,
  type SessionCookie,
} from './session-cookie.ts'
import { createUserSessions, type SessionToEnd, type UserSessions } from './user-indexes.ts'

export type Sessions = ReturnType<typeof createSessions>

/** Creates, reads, extends and ends sessions. */
export function createSessions(options: SessionsOptions & { readonly cookie: SessionCookie }) {
  const device = createDeviceBinding(options)
  const sessionStore = createSessionStore(options)
  const userSessions = createUserSessions(options, sessionStore)
  const deviceSessions = createDeviceSessions(options)
  const issuing = { ...options, sessionStore, userSessions, deviceSessions, device }

  return {
    ...createRequestSessions(options),

    /** To be called before `find`, `require` and `refresh`. */
    load: createLoadSession(options.cookie, sessionStore, device),

    formatTimes: (session: Session) => formatTimes(session, options),

    /** undefined: the device has no such session. */
    async get(id: string, deviceId: string): Promise<Session | undefined> {
      const session = await sessionStore.read(id)
      return session !== undefined && device.matches(session, deviceId) ? session : undefined
    },

    exists: sessionStore.exists,

    /** Prepares a session with a new id. The commit of a sign-in step writes it. */
    prepare: (grant: SessionGrant) => prepareSession(issuing, grant),

    list: userSessions.list,
    end: userSessions.end,
    endAll: userSessions.endAll,
  }
}

/** Access to the loaded session of a request. */
function createRequestSessions(options: SessionsOptions) {
  const { extendEveryMs, now } = options

  /** Does not extend the session. */
  const find = ({ session }: Partial<Request>) =>
    session?.stored !== undefined && remainingMs(session.stored.session, options) > 0
      ? session.stored
      : undefined

  /** Extends the session now. */
  const refresh = async (req: Request): Promise<Session | undefined> => {
    const stored = find(req)?.extendedAt(now())
    if (stored === undefined) return undefined
    req.session.stored = stored
    return (await save(req.session)) ? stored.session : undefined
  }

  /**
   * Extends the session if that is due.
   *
   * @throws 401 E0000005 if there is no session
   */
  const require = async (req: Request): Promise<Session> => {
    const found = find(req)?.session
    const isDue = found !== undefined && now() - found.lastSeenAtMs >= extendEveryMs
    const session = isDue ? await refresh(req) : found
    if (session === undefined) throw noSession()
    return session
  }

  return { find, refresh, require }
}

/** False: the session was ended after it was read, and is not written. */
function save(session: ExpressSession): Promise<boolean> {
  return new Promise((resolve, reject) => {
    session.save((error?: unknown) => {
      if (error instanceof SessionEnded) resolve(false)
      else if (error) reject(error)
      else resolve(true)
    })
  })
}

/** Adds loading of the session to each route. */
export function withSession(sessions: Pick<Sessions, 'load'>, routes: readonly Route[]): Route[] {
  return routes.map((route) => ({
    ...route,
    async handle(req, res) {
      await sessions.load(req, res)
      return route.handle(req, res)
    },
  }))
}

/** A request may name the session that its page belongs to. If the browser has another one by now, it is refused with 409. */
export function refuseOtherSession(sessions: Pick<Sessions, 'load' | 'find'>): RequestHandler {
  return function refuseOtherSession(req, res, next) {
    const expected = req.headers['x-gatehouse-session']
    if (expected === undefined) return next()
    return sessions.load(req, res).then(() => {
      const found = sessions.find(req)
      if (found !== undefined && found.session.publicId !== expected) throw sessionChanged()
      next()
    })
  }
}

/** The result of a finished sign-in. */
export type SessionGrant = Omit<Session, 'publicId' | 'createdAtMs' | 'lastSeenAtMs' | 'device'> & {
  readonly deviceId: string
}

/** A new session with its ids. Nothing is written yet. Its methods belong to the commit of a sign-in step. */
export interface PreparedSession {
  /** The id in the cookie. */
  readonly id: string
  readonly publicId: string
  write(): Promise<void>
  /** Makes this the session of its device. To be called after `write`: a sign-in that replaces the session must find it. */
  bindDevice(): Promise<void>
  /**
   * To be called after the commit. Ends the previous sessions of the device and the session of the request's cookie, `presentedId`.
   * Evicts the user's oldest sessions if there are too many.
   *
   * @returns how many sessions were evicted
   * @throws 403 if this would end another user's session, unless `mayReplaceOtherUser`
   */
  replace(presentedId: string | undefined, mayReplaceOtherUser: boolean): Promise<number>
  /**
   * Reverses all writes, failed ones too, because Redis may still execute them later. Nothing is read first: on a stalled Redis, the
   * delete is queued right behind the write, so either both are executed or neither.
   */
  rollback(): Promise<void>
}

export interface PrepareSessionOptions extends SessionsOptions {
  readonly sessionStore: SessionStore
  readonly userSessions: UserSessions
  readonly deviceSessions: DeviceSessions
  readonly device: DeviceBinding
}

function prepareSession(options: PrepareSessionOptions, grant: SessionGrant): PreparedSession {
  const { sessionStore, userSessions, deviceSessions, absoluteMs, maxPerUser, metrics } = options
  const { userId, deviceId } = grant
  const id = newSessionId()
  const publicId = uuid()
  let entries = 0
  let bound: DeviceSwap | undefined

  return {
    id,
    publicId,

    async write() {
      const session = newSession(options, grant, publicId)
      // The index may show the entry before the session exists. It is not removed then (user-indexes.ts).
      const adding = userSessions.add(userId, { id, ...session }, absoluteMs)
      ;[entries] = await allSettledOrThrow(adding, sessionStore.create(id, session))
      metrics.sessionsOpened.inc()
    },

    async bindDevice() {
      bound = await deviceSessions.bind(deviceId, id, absoluteMs)
    },

    async replace(presentedId, mayReplaceOtherUser) {
      const replaced = await readReplaced(options, bound, presentedId, deviceId)
      const hasOtherUser = replaced.some(({ session }) => session !== undefined && session.userId !== userId)
      if (hasOtherUser && !mayReplaceOtherUser) throw otherUsersSession('stateToken')
      await Promise.all(replaced.map((one) => userSessions.end(one, 'replaced')))
      return entries > maxPerUser ? userSessions.evict(userId) : 0
    },

    async rollback() {
      const [wasThere] = await allSettledOrThrow(
        sessionStore.remove(id),
        userSessions.remove(userId, publicId),
        Promise.resolve(bound?.rollback()),
      )
      if (wasThere) metrics.sessionsEnded.inc({ reason: 'rolled_back' })
    },
  }
}

function newSession({ device, now }: PrepareSessionOptions, grant: SessionGrant, publicId: string): Session {
  const { deviceId, ...granted } = grant
  const at = now()
  return { ...granted, publicId, device: device.hash(deviceId), createdAtMs: at, lastSeenAtMs: at }
}

/** Includes the session of the request's cookie, because the index entry of the device may be lost or unreadable. */
async function readReplaced(
  { sessionStore, device }: PrepareSessionOptions,
  bound: DeviceSwap | undefined,
  presentedId: string | undefined,
  deviceId: string,
): Promise<readonly SessionToEnd[]> {
  const read = async (id: string) => ({ id, session: await sessionStore.read(id) })
  const replaced = await Promise.all((bound?.replaced ?? []).map(read))
  if (presentedId === undefined || bound?.replaced.includes(presentedId)) return replaced
  const presented = await read(presentedId)
  const isOwn = presented.session !== undefined && device.matches(presented.session, deviceId)
  return isOwn ? [...replaced, presented] : replaced
}
