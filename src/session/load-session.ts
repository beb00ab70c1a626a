import type { Request } from 'express'
import type { Session } from './session.ts'
import type { SessionCookie } from './session-cookie.ts'
import type { SessionRecords } from './session-records.ts'

/** Reads the session of a request, once however often it is asked for; a store out of reach throws 503. */
export type LoadSession = (req: Request) => Promise<LoadedSession | undefined>

export interface LoadedSession {
  /** Of the cookie. */
  readonly id: string
  readonly session: Session
}

/** Whether this is the device that opened the session; whoever decides that it is not also audits it. */
export type IsOwnDevice = (req: Request, session: Session) => boolean

/**
 * Only ever reads: nothing is created, moved or saved on the way, and no cookie is set. Not by express-session, and why:
 * docs/decisions/0015-sessions-are-read-by-our-own-code.md.
 */
export function createLoadSession(
  records: SessionRecords,
  cookie: SessionCookie,
  isOwnDevice: IsOwnDevice,
): LoadSession {
  const loaded = new WeakMap<Request, Promise<LoadedSession | undefined>>()

  return (req) => {
    const known = loaded.get(req)
    if (known !== undefined) return known
    const id = cookie.idIn(req)
    if (id === undefined) return NONE
    const loading = records
      .read(id)
      .then((session) => (session !== undefined && isOwnDevice(req, session) ? { id, session } : undefined))
    loaded.set(req, loading)
    return loading
  }
}

const NONE = Promise.resolve(undefined)
