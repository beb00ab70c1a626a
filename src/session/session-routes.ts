import type { Request, RequestHandler, Response } from 'express'
import { noSession, notFound } from '../errors.ts'
import { routesOf } from '../http/operation.ts'
import type { Route } from '../http/routes.ts'
import { sendJson } from '../http/send-json.ts'
import type { Logger } from '../observability/logger.ts'
import { auditedOf } from './audited.ts'
import type { EndAllSessions } from './end-all-sessions.ts'
import type { Session } from './session.ts'
import type { SessionCookie } from './session-cookie.ts'
import { OWN_SESSIONS_OPERATIONS, SESSION_OPERATIONS } from './session-operations.ts'
import type { Sessions } from './sessions.ts'

export interface SessionRoutesParts {
  /** What the links of an answer begin with. */
  readonly publicOrigin: string
  readonly sessions: Sessions
  readonly cookie: SessionCookie
  /** Gives the browser its device cookie if it has none yet. */
  readonly ensureDevice: (req: Request, res: Response) => unknown
  readonly log: Logger
}

export function createSessionRoutes({
  publicOrigin,
  sessions,
  cookie,
  ensureDevice,
  log,
}: SessionRoutesParts): Route[] {
  /** The vendor's library makes functions of them: `session.get()` answers with a `refresh()` and a `user()`. */
  const links = {
    self: { href: `${publicOrigin}/api/v1/sessions/me`, hints: { allow: ['GET', 'DELETE'] } },
    refresh: { href: `${publicOrigin}/api/v1/sessions/me/lifecycle/refresh`, hints: { allow: ['POST'] } },
    user: { href: `${publicOrigin}/api/v1/users/me`, hints: { allow: ['GET'] } },
  }

  const present = (session: Session) => ({
    id: session.publicId,
    userId: session.userId,
    login: session.login,
    profile: session.profile,
    status: 'ACTIVE',
    createdAt: new Date(session.createdAtMs).toISOString(),
    expiresAt: new Date(sessions.expiresAtMs(session)).toISOString(),
    idleExpiresAt: new Date(sessions.idleExpiresAtMs(session)).toISOString(),
    amr: session.amr,
    _links: links,
  })

  const signOut = signOutBy({ sessions, cookie, log })

  return routesOf(SESSION_OPERATIONS, {
    async getSession(req, res) {
      ensureDevice(req, res) // an SPA calls this first: the device is known before anybody signs in
      const session = await sessions.find(req)
      if (session === undefined) throw notFound('me (Session)')
      sendJson(res, present(session))
    },
    async signOut(req, res) {
      const id = cookie.idIn(req)
      const session = await sessions.find(req)
      if (session === undefined || id === undefined) throw notFound('me (Session)')
      await signOut(id, session, req, res)
    },
    async refreshSession(req, res) {
      const session = await sessions.refresh(req)
      if (session === undefined) throw notFound('me (Session)')
      sendJson(res, present(session))
    },
    async getUser(req, res) {
      const { userId, login, profile } = await lookedAt(sessions, req)
      sendJson(res, { id: userId, status: 'ACTIVE', profile: { ...profile, login } })
    },
  })
}

/** One's own sessions: look at them, end one, end all others. None of this keeps the session alive. */
export function createOwnSessionsRoutes({
  sessions,
  endAllSessions,
  cookie,
  log,
}: OwnSessionsParts): Route[] {
  const signOut = signOutBy({ sessions, cookie, log })
  const audit = (req: Request, session: Session, count: number) =>
    log.audit('sessions_revoked', { ...auditedOf(req, session), reason: 'by_person', count })

  return routesOf(OWN_SESSIONS_OPERATIONS, {
    async listSessions(req, res) {
      const own = await lookedAt(sessions, req)
      const list = (await sessions.listOf(own.userId)).map(({ session }) => ({
        id: session.publicId,
        createdAt: new Date(session.createdAtMs).toISOString(),
        lastSeenAt: new Date(session.lastSeenAtMs).toISOString(),
        expiresAt: new Date(sessions.expiresAtMs(session)).toISOString(),
        current: session.publicId === own.publicId,
        userAgent: session.userAgent,
      }))
      sendJson(res, { sessions: list })
    },
    async endOtherSessions(req, res) {
      const ownId = cookie.idIn(req)
      const own = await lookedAt(sessions, req)
      audit(req, own, await endAllSessions(own.userId, 'by_person', { id: ownId }))
      res.status(204).end()
    },
    async endSession(req, res) {
      const { publicId } = req.params
      const ownId = cookie.idIn(req)
      const own = await lookedAt(sessions, req)
      if (publicId === own.publicId && ownId !== undefined) return signOut(ownId, own, req, res)
      const found = (await sessions.listOf(own.userId)).find(({ session }) => session.publicId === publicId)
      if (found === undefined) throw notFound('session')
      await sessions.end(found.id, 'by_person')
      audit(req, own, 1)
      res.status(204).end()
    },
  })
}

/** The request's session, not moved; 401 when there is none. Only use of the portal extends the idle time (DESIGN §4). */
async function lookedAt(sessions: Sessions, req: Request): Promise<Session> {
  const session = await sessions.find(req)
  if (session === undefined) throw noSession()
  return session
}

export interface OwnSessionsParts extends SignOutParts {
  readonly endAllSessions: EndAllSessions
}

type SignOutParts = Pick<SessionRoutesParts, 'sessions' | 'cookie' | 'log'>

/** Ending the current session is a sign-out, whether it is named `me` or by its public id. */
function signOutBy({ sessions, cookie, log }: SignOutParts) {
  return async function signOut(id: string, session: Session, req: Request, res: Response): Promise<void> {
    await sessions.end(id, 'signed_out')
    log.audit('signed_out', auditedOf(req, session))
    // not "cookies": the device cookie outlives sign-out
    res.set('Clear-Site-Data', '"cache", "storage"')
    res.append('Set-Cookie', cookie.closing()).status(204).end()
  }
}

/** Any request may say which session its page speaks for; when it is another by now, nothing is done (409). */
export function refuseOtherSession({ sessions }: { sessions: Sessions }): RequestHandler {
  return function refuseOtherSession(req, _res, next) {
    if (req.headers['x-gatehouse-session'] === undefined) return next()
    return sessions.find(req).then(() => next())
  }
}
