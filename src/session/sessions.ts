import type { Request, RequestHandler } from 'express'
import type { Session as ExpressSession } from 'express-session'
import { v4 as uuid } from 'uuid'
import { noSession, otherSession, otherUsersSession } from '../errors.ts'
import type { Route } from '../http/routes.ts'
import { allSettledOrThrow } from '../store/store.ts'
import { formatTimes, remainingMs, type Session, type SessionsOptions } from './session.ts'
import { createLoadSession, type SessionCookie } from './session-cookie.ts'
import {
  createDeviceBinding,
  createDeviceSessions,
  type DeviceBinding,
  type DeviceSessions,
  type DeviceSwap,
} from './session-device.ts'
import { createSessionStore, newSessionId, SessionEnded, type SessionStore } from './session-store.ts'
import { createUserSessions, type SessionToEnd, type UserSessions } from './user-indexes.ts'

export type Sessions = ReturnType<typeof createSessions>

/** Issues, reads, extends and ends sessions. */
export function createSessions(options: SessionsOptions & { readonly cookie: SessionCookie }) {
  const device = createDeviceBinding(options)
  const sessionStore = createSessionStore(options)
  const userSessions = createUserSessions(options, sessionStore)
  const deviceSessions = createDeviceSessions(options)
  const issuing = { ...options, sessionStore, userSessions, deviceSessions, device }

  return {
    ...createRequestSessions(options),

    /** Reads the session of a request, for `find`, `require` and `refresh`; a store out of reach is 503. */
    load: createLoadSession(options.cookie, sessionStore, device),

    formatTimes: (session: Session) => formatTimes(session, options),

    /** The living session of this id and device; undefined: none. */
    async get(id: string, deviceId: string): Promise<Session | undefined> {
      const session = await sessionStore.read(id)
      return session !== undefined && device.isOf(session, deviceId) ? session : undefined
    },

    exists: sessionStore.exists,

    /** A session under a new id, to be written in the commit of a sign-in step. */
    prepare: (grant: SessionGrant) => prepareSession(issuing, grant),

    list: userSessions.list,
    end: userSessions.end,
    endAll: userSessions.endAll,
  }
}

/** The session of a request, once it is loaded. */
function createRequestSessions(options: SessionsOptions) {
  const { extendEveryMs, now } = options

  /** Not extended; undefined: none. */
  const find = ({ session }: Partial<Request>) =>
    session?.stored !== undefined && remainingMs(session.stored.session, options) > 0
      ? session.stored
      : undefined

  /** Extended now, whatever the time; undefined: none. */
  const refresh = async (req: Request): Promise<Session | undefined> => {
    const stored = find(req)?.extendedAt(now())
    if (stored === undefined) return undefined
    req.session.stored = stored
    return (await save(req.session)) ? stored.session : undefined
  }

  /** Extended when it is time; 401 E0000005 when there is none. */
  const require = async (req: Request): Promise<Session> => {
    const found = find(req)?.session
    const isDue = found !== undefined && now() - found.lastSeenAtMs >= extendEveryMs
    const session = isDue ? await refresh(req) : found
    if (session === undefined) throw noSession()
    return session
  }

  return { find, refresh, require }
}

/** False: it was signed out or ended meanwhile, and stays so. */
function save(session: ExpressSession): Promise<boolean> {
  return new Promise((resolve, reject) => {
    session.save((error?: unknown) => {
      if (error instanceof SessionEnded) resolve(false)
      else if (error) reject(error)
      else resolve(true)
    })
  })
}

/** The same routes, each with the session of its request. */
export function withSession(sessions: Pick<Sessions, 'load'>, routes: readonly Route[]): Route[] {
  return routes.map((route) => ({
    ...route,
    async handle(req, res) {
      await sessions.load(req, res)
      return route.handle(req, res)
    },
  }))
}

/** Any request may name the session that its page belongs to; when the browser has another one by now, nothing is done (409). */
export function refuseOtherSession(sessions: Pick<Sessions, 'load' | 'find'>): RequestHandler {
  return function refuseOtherSession(req, res, next) {
    const expected = req.headers['x-gatehouse-session']
    if (expected === undefined) return next()
    return sessions.load(req, res).then(() => {
      const found = sessions.find(req)
      if (found !== undefined && found.session.publicId !== expected) throw otherSession()
      next()
    })
  }
}

/** What sign-in knows of the user when it is done. */
export type SessionGrant = Omit<Session, 'publicId' | 'createdAtMs' | 'lastSeenAtMs' | 'device'> & {
  readonly deviceId: string
}

/** A session whose ids are chosen; nothing is written yet. What it writes belongs to the commit of a sign-in step. */
export interface PreparedSession {
  /** For the cookie. */
  readonly id: string
  readonly publicId: string
  write(): Promise<void>
  /** Makes it the session of its device. To be called once it is written: a sign-in that replaces it must find it. */
  bindDevice(): Promise<void>
  /**
   * To be called once the step is committed: ends what the device had before, `presentedId` by the request's cookie included, and
   * evicts the user's oldest sessions when there are too many; says how many those were.
   *
   * @throws 403 if it would replace another user's session, unless `mayReplaceOtherUser`
   */
  replace(presentedId: string | undefined, mayReplaceOtherUser: boolean): Promise<number>
  /**
   * Undoes all of it, also when that failed: Redis may still carry it out, late. Nothing is read first: on a stalled Redis, the
   * delete is then queued right behind the write, so both happen or neither.
   */
  rollback(): Promise<void>
}

export interface PrepareSessionOptions extends SessionsOptions {
  readonly sessionStore: SessionStore
  readonly userSessions: UserSessions
  readonly deviceSessions: DeviceSessions
  readonly device: DeviceBinding
}

export function prepareSession(options: PrepareSessionOptions, grant: SessionGrant): PreparedSession {
  const { sessionStore, userSessions, deviceSessions, absoluteMs, maxPerUser, metrics } = options
  const { userId, deviceId } = grant
  const id = newSessionId()
  const publicId = uuid()
  let entries = 0
  let taken: DeviceSwap | undefined

  return {
    id,
    publicId,

    async write() {
      const session = newSession(options, grant, publicId)
      // An index entry that is found before its session exists is left alone (user-indexes.ts).
      const adding = userSessions.add(userId, { id, ...session }, absoluteMs)
      ;[entries] = await allSettledOrThrow(adding, sessionStore.create(id, session))
      metrics.sessionsOpened.inc()
    },

    async bindDevice() {
      taken = await deviceSessions.take(deviceId, id, absoluteMs)
    },

    async replace(presentedId, mayReplaceOtherUser) {
      const replaced = await readReplaced(options, taken, presentedId, deviceId)
      const isAnothers = replaced.some(({ session }) => session !== undefined && session.userId !== userId)
      if (isAnothers && !mayReplaceOtherUser) throw otherUsersSession('stateToken')
      await Promise.all(replaced.map((one) => userSessions.end(one, 'replaced')))
      return entries > maxPerUser ? userSessions.evict(userId) : 0
    },

    async rollback() {
      const [wasThere] = await allSettledOrThrow(
        sessionStore.remove(id),
        userSessions.remove(userId, publicId),
        Promise.resolve(taken?.rollback()),
      )
      if (wasThere) metrics.sessionsEnded.inc({ reason: 'orphaned' })
    },
  }
}

function newSession({ device, now }: PrepareSessionOptions, grant: SessionGrant, publicId: string): Session {
  const { deviceId, ...granted } = grant
  const at = now()
  return { ...granted, publicId, device: device.hashOf(deviceId), createdAtMs: at, lastSeenAtMs: at }
}

/** What the device had before, and the session of the request's cookie: the device's entry may be lost, or unreadable. */
async function readReplaced(
  { sessionStore, device }: PrepareSessionOptions,
  taken: DeviceSwap | undefined,
  presentedId: string | undefined,
  deviceId: string,
): Promise<readonly SessionToEnd[]> {
  const read = async (id: string) => ({ id, session: await sessionStore.read(id) })
  const replaced = await Promise.all((taken?.replaced ?? []).map(read))
  if (presentedId === undefined || taken?.replaced.includes(presentedId)) return replaced
  const shown = await read(presentedId)
  const isOwn = shown.session !== undefined && device.isOf(shown.session, deviceId)
  return isOwn ? [...replaced, shown] : replaced
}
