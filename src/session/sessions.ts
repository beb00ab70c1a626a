import type { Request, RequestHandler } from 'express'
import type { Session as ExpressSession } from 'express-session'
import { noSession, otherSession } from '../errors.ts'
import type { Route } from '../http/routes.ts'
import { prepareSession, type SessionGrant } from './prepare-session.ts'
import { leftMs, type Session, type SessionsOptions, timesOf } from './session.ts'
import { createDeviceSessions, createSessionDevice } from './session-device.ts'
import { createLoadSession } from './session-middleware.ts'
import { createSessionStore, SessionEnded } from './session-store.ts'
import { createUserSessions } from './user-sessions.ts'

export type Sessions = ReturnType<typeof createSessions>

/** Issues, reads, extends and ends sessions. */
export function createSessions(options: SessionsOptions) {
  const device = createSessionDevice(options)
  const sessionStore = createSessionStore(options)
  const userSessions = createUserSessions(options, sessionStore)
  const deviceSessions = createDeviceSessions(options)
  const issuing = { ...options, sessionStore, userSessions, deviceSessions, device }

  return {
    ...createRequestSessions(options),

    /** Reads the session of a request, for `find`, `require` and `refresh`; a store out of reach is 503. */
    load: createLoadSession(options, sessionStore, device),

    timesOf: (session: Session) => timesOf(session, options),

    /** The living session of this id and device; undefined: none. */
    async get(id: string, deviceId: string): Promise<Session | undefined> {
      const session = await sessionStore.read(id)
      return session !== undefined && device.isOf(session, deviceId) ? session : undefined
    },

    holds: sessionStore.holds,

    /** A session under a new id, to be written in the commit of a sign-in step. */
    prepare: (grant: SessionGrant) => prepareSession(issuing, grant),

    listOf: userSessions.listOf,
    end: userSessions.end,
    endAllOf: userSessions.endAllOf,
  }
}

/** The session of a request, once it is loaded. */
function createRequestSessions(options: SessionsOptions) {
  const { extendEveryMs, now } = options

  /** Not extended; undefined: none. */
  const find = ({ session }: Partial<Request>) =>
    session?.stored !== undefined && leftMs(session.stored.session, options) > 0 ? session.stored : undefined

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
