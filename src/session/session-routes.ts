import type { Request, Response } from 'express'
import { noSession, notFound, signInAgain } from '../errors.ts'
import { type Operations, type Route, routesOf } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import type { Logger } from '../observability/logger.ts'
import type { BoundSessions } from './bound-sessions.ts'
import { presentSession, sessionLinksAt } from './present-session.ts'
import { auditFields, type IdentifiedSession, type Session } from './session.ts'
import type { SessionCookie } from './session-cookie.ts'
import type { Sessions } from './sessions.ts'
import type { EndAllSessions } from './user-sessions.ts'

const ME = '/api/v1/sessions/me'
const ME_SESSION = 'me (Session)'

/** A page cannot follow a redirect of a `fetch` to Okta, so it gets the address in a header. */
const SIGN_OUT_HEADER = 'X-Gatehouse-Sign-Out'

/** The session of this browser. */
export const SESSION_OPERATIONS = {
  getSession: { method: 'GET', path: ME, kind: 'session-read' },
  signOut: { method: 'DELETE', path: ME, kind: 'session-write' },
  refreshSession: { method: 'POST', path: `${ME}/lifecycle/refresh`, kind: 'session-write' },
  getUser: { method: 'GET', path: '/api/v1/users/me', kind: 'session-read' },
} as const satisfies Operations

/** All sessions of the signed-in user. */
export const OWN_SESSIONS_OPERATIONS = {
  listSessions: { method: 'GET', path: '/api/v1/sessions', kind: 'session-read' },
  endOtherSessions: { method: 'DELETE', path: '/api/v1/sessions', kind: 'session-write' },
  endSession: { method: 'DELETE', path: '/api/v1/sessions/:publicId', kind: 'session-write' },
} as const satisfies Operations

export interface SessionRoutesOptions {
  /** The origin of the links in responses. */
  readonly publicOrigin: string
  readonly sessions: Sessions
  readonly endAllSessions: EndAllSessions
  /** How old the sign-in may be when the user ends other sessions. */
  readonly recentSignInMinutes: number
  readonly now: () => number
  readonly sessionCookie: SessionCookie
  readonly boundSessions: BoundSessions
  /**
   * Okta's sign-out, to which the page navigates after a sign-out. Undefined: the Okta session
   * continues.
   */
  readonly oktaSignOut: string | undefined
  /** The types of `Clear-Site-Data` at a sign-out. */
  readonly signOutClears: readonly ('cache' | 'storage')[]
  readonly deviceCookie: {
    /** Sets the cookie if the browser has none. */
    readonly ensure: (req: Request, res: Response) => unknown
  }
  readonly log: Logger
}

/** The session of this browser. Reading it does not extend it. */
export function createSessionRoutes(options: SessionRoutesOptions): Route[] {
  const { sessions, deviceCookie, publicOrigin } = options
  const links = sessionLinksAt(publicOrigin)
  const present = (session: Session) => presentSession(session, sessions.limits, links)

  return routesOf(SESSION_OPERATIONS, {
    getSession(req, res) {
      // an SPA calls this first, so the device is known before the sign-in
      deviceCookie.ensure(req, res)
      sendJson(res, present(requireFound(sessions.find(req)).session))
    },
    signOut(req, res) {
      const found = sessions.findUnproved(req)
      if (found !== undefined) return signOut(options, found, req, res)
      // the session has ended elsewhere, and that at Okta may continue
      tellOktaSignOut(options, res)
      throw notFound(ME_SESSION)
    },
    async refreshSession(req, res) {
      sendJson(res, present(requireFound(await sessions.refresh(req))))
    },
    getUser(req, res) {
      const { userId, login, profile } = findSession(sessions, req).session
      sendJson(res, { id: userId, status: 'ACTIVE', profile: { ...profile, login } })
    },
  })
}

/** The user's own sessions. These routes do not extend the session. */
export function createOwnSessionsRoutes(options: SessionRoutesOptions): Route[] {
  const { sessions, endAllSessions, log } = options
  const auditRevoked = (req: Request, session: Session, count: number) =>
    log.audit('sessions_revoked', { ...auditFields(req, session), reason: 'by_user', count })

  return routesOf(OWN_SESSIONS_OPERATIONS, {
    async listSessions(req, res) {
      const own = findSession(sessions, req).session
      const list = (await sessions.list(own.userId)).map(({ session }) => {
        const { idleExpiresAt: _, ...times } = sessions.formatTimes(session)
        const current = session.publicId === own.publicId
        const { publicId: id, userAgent } = session
        return { id, ...times, current, userAgent, deviceBound: session.binding !== undefined }
      })
      sendJson(res, { sessions: list })
    },
    async endOtherSessions(req, res) {
      const { id, session } = findSession(sessions, req)
      requireRecentSignIn(session, options)
      const audit = (count: number) => auditRevoked(req, session, count)
      await endAllSessions(session.userId, 'by_user', audit, { id })
      res.status(204).end()
    },
    async endSession(req, res) {
      const { publicId } = req.params
      const own = findSession(sessions, req)
      if (publicId === own.session.publicId) return signOut(options, own, req, res)
      requireRecentSignIn(own.session, options)
      const others = await sessions.list(own.session.userId)
      const other = others.find(({ session }) => session.publicId === publicId)
      if (other === undefined) throw notFound('session')
      await sessions.end(other, 'by_user')
      auditRevoked(req, own.session, 1)
      res.status(204).end()
    },
  })
}

async function signOut(
  options: SessionRoutesOptions,
  own: IdentifiedSession,
  req: Request,
  res: Response,
): Promise<void> {
  const { sessions, sessionCookie, boundSessions, log, signOutClears } = options
  await sessions.end(own, 'signed_out')
  log.audit('signed_out', auditFields(req, own.session))
  tellOktaSignOut(options, res)
  if (signOutClears.length > 0)
    res.set('Clear-Site-Data', signOutClears.map((type) => `"${type}"`).join(', '))
  const deletions = [
    sessionCookie.clearCookie(),
    ...sessionCookie.clearOthers(req),
    ...boundSessions.clearIn(req),
  ]
  for (const deletion of deletions) res.append('Set-Cookie', deletion)
  res.status(204).end()
}

function tellOktaSignOut({ oktaSignOut }: SessionRoutesOptions, res: Response): void {
  if (oktaSignOut !== undefined) res.set(SIGN_OUT_HEADER, oktaSignOut)
}

/** So that a stranger at an unlocked screen cannot sign the user out elsewhere. */
function requireRecentSignIn(
  { authenticatedAtMs }: Session,
  { recentSignInMinutes, now }: Pick<SessionRoutesOptions, 'recentSignInMinutes' | 'now'>,
): void {
  if (now() - authenticatedAtMs > recentSignInMinutes * 60_000) throw signInAgain(recentSignInMinutes)
}

function requireFound<T>(session: T | undefined): T {
  if (session === undefined) throw notFound(ME_SESSION)
  return session
}

export function findSession(sessions: Sessions, req: Request): IdentifiedSession {
  const found = sessions.find(req)
  if (found === undefined) throw noSession()
  return found
}
