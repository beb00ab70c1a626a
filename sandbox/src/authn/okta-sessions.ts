import type { Request, Response } from 'express'
import type { Org } from './org.ts'
import type { User } from './user.ts'

const COOKIE = 'sid'

/** The user of the browser's session at the org. */
export function oktaSessionUser(org: Org, req: Request): User | undefined {
  return org.sessions.get(sidOf(req) ?? '')
}

/** Replaces the browser's session, if it has one. */
export function openOktaSession(org: Org, res: Response, user: User): void {
  const sid = org.tokens.issueLong()
  org.sessions.put(sid, user)
  res.cookie(COOKIE, sid, { httpOnly: true, sameSite: 'lax', path: '/' })
}

/** False if the browser had no session. */
export function endOktaSession(org: Org, req: Request, res: Response): boolean {
  res.clearCookie(COOKIE, { httpOnly: true, sameSite: 'lax', path: '/' })
  return org.sessions.take(sidOf(req) ?? '') !== undefined
}

function sidOf(req: Request): string | undefined {
  const pairs = (req.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([key]) => key === COOKIE)?.[1]
}
