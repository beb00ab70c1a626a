import type { Session } from './session.ts'
import { formatLife, type SessionTimeLimits } from './session-times.ts'

/** What a browser is told of its session, as Okta's sessions API does, without a token. */
export function presentSession(
  session: Pick<
    Session,
    | 'publicId'
    | 'userId'
    | 'login'
    | 'profile'
    | 'amr'
    | 'createdAtMs'
    | 'authenticatedAtMs'
    | 'lastSeenAtMs'
    | 'binding'
  >,
  limits: SessionTimeLimits,
  _links: SessionLinks,
) {
  const { publicId: id, userId, login, profile, amr, authenticatedAtMs } = session
  const authenticatedAt = new Date(authenticatedAtMs).toISOString()
  const life = formatLife(session, limits)
  const deviceBound = session.binding !== undefined
  const status = 'ACTIVE'
  return { id, userId, login, profile, status, ...life, authenticatedAt, amr, deviceBound, _links }
}

export type SessionLinks = ReturnType<typeof sessionLinksAt>

/**
 * Okta's library makes functions of them: the result of `session.get()` has `refresh()` and
 * `user()`.
 */
export function sessionLinksAt(publicOrigin: string) {
  const link = (path: string, ...allow: string[]) => ({ href: `${publicOrigin}${path}`, hints: { allow } })
  return {
    self: link('/api/v1/sessions/me', 'GET', 'DELETE'),
    refresh: link('/api/v1/sessions/me/lifecycle/refresh', 'POST'),
    user: link('/api/v1/users/me', 'GET'),
  }
}
