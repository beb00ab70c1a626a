import type { Response } from 'express'
import type { BoundSessions } from './bound-sessions.ts'
import type { SessionCookie } from './session-cookie.ts'

/**
 * The headers of a response that opens a session: its cookie, and the request for a key of the
 * browser. The bound cookie of the session before is deleted, because a wrong one is refused.
 */
export function createSetSession({
  sessionCookie,
  boundSessions,
}: {
  readonly sessionCookie: Pick<SessionCookie, 'setCookie' | 'clearOthers'>
  readonly boundSessions: Pick<BoundSessions, 'registrationHeader' | 'clearIn'>
}) {
  return (res: Response, sessionId: string): void => {
    const { req } = res
    const cookies = [
      sessionCookie.setCookie(sessionId),
      ...sessionCookie.clearOthers(req),
      ...boundSessions.clearIn(req),
    ]
    for (const setCookie of cookies) res.append('Set-Cookie', setCookie)
    const registration = boundSessions.registrationHeader(sessionId)
    if (registration !== undefined) res.set('Secure-Session-Registration', registration)
  }
}
