import type { Request } from 'express'
import { noSession } from '../errors.ts'
import { getRequestContext } from '../http/request-context.ts'
import { isWriteRefused } from '../store/redis-errors.ts'
import { createLoadSession, type LoadSessionOptions } from './load-session.ts'
import type { Binding, HandedOverSession, LoadedSession, Recheck, Session } from './session.ts'
import type { SessionRecords } from './session-records.ts'

export type Sessions = ReturnType<typeof createSessions>

export interface RequestSessionsOptions extends LoadSessionOptions {
  /** Called whenever a session is extended. Never throws. */
  readonly recheck?: Recheck | undefined
}

/** Sessions, with access to that of a request. */
export function createSessions(records: SessionRecords, options: RequestSessionsOptions) {
  return {
    ...records,
    ...createRequestSessions(options, records),

    /** To be called before `find`, `require` and `refresh`. */
    load: createLoadSession(options, records.sessionStore),
  }
}

/** Access to the loaded session of a request. */
function createRequestSessions(options: RequestSessionsOptions, records: SessionRecords) {
  const { idleMs, boundSessions, metrics, now } = options
  const { sessionStore, readValid, isProved } = records
  const extendAfterMs = Math.min(options.extendEveryMs ?? 60_000, idleMs / 2)

  /**
   * Loads the session of an application's cookie, which stands for those of the session, the device
   * and the key. It costs what `load` does.
   */
  const loadHandedOver = async (req: Request, handedOver: HandedOverSession): Promise<void> => {
    const found = await readValid(handedOver.sessionId)
    metrics.sessionChecks.inc({ result: found?.session === undefined ? 'no_session' : 'session' })
    if (found?.session === undefined) return
    req.stored = found
    req.isProved = true
    req.isKeyProved = handedOver.isKeyProved
  }

  /**
   * The session of the session and the device cookie alone: for a sign-out, and for a browser that
   * registers or proves its key. `load` has checked that it has not expired. Does not extend it.
   */
  const findUnproved = ({ stored }: Request) => stored

  /**
   * Does not extend the session. undefined also if the session is bound and the request has no
   * valid bound cookie.
   *
   * @throws 503 if the browser could not renew that cookie
   */
  const find = (req: Request) => {
    const found = findUnproved(req)
    if (found?.session.binding === undefined) return found
    req.isProved ??= isProved(found, boundSessions.evidenceIn(req), getRequestContext(req))
    return req.isProved ? found : undefined
  }

  /**
   * Whether this request shows that its browser has the key of the session: by the bound cookie, or
   * by an application's cookie that was given for one. `find` also serves requests that do not: of
   * sessions that are not bound, in the first moments without the cookie, and with an application's
   * cookie from before the registration.
   */
  const isKeyProved = (req: Request): boolean => {
    const found = findUnproved(req)
    if (found?.session.binding === undefined) return false
    return req.isKeyProved ?? boundSessions.hasValidCookie(found.id, req)
  }

  /** Binds the session to a key unless it has one. undefined: the session has ended. */
  const bind = (found: LoadedSession, binding: Binding) =>
    sessionStore.update(found, (session) =>
      session.binding === undefined ? { ...session, binding } : session,
    )

  /** Extends the session now. Throws 503 if it cannot: this is what the caller asks for. */
  const refresh = async (req: Request): Promise<Session | undefined> => {
    const found = find(req)
    if (found === undefined) return undefined
    const lastSeenAtMs = now()
    const before = found.session.lastSeenAtMs
    // another request may have extended it since it was read
    const extend = (session: Session) =>
      session.lastSeenAtMs > before ? session : { ...session, lastSeenAtMs }
    const extending = sessionStore.update(found, extend)
    const { requestId, address } = getRequestContext(req)
    // in the background
    void options.recheck?.({ ...found.session, lastSeenAtMs }, { requestId, address })
    const session = await extending
    if (session !== undefined)
      metrics.sessionsExtended.inc({ bound: session.binding === undefined ? 'no' : 'yes' })
    return session
  }

  /**
   * Extends the session if that is due. While Redis reads and refuses to write (it is full, or
   * read-only after a failover), the session is used until its stored end.
   *
   * @throws 401 E0000005 if there is no session
   */
  const require = async (req: Request): Promise<Session> => {
    const found = find(req)?.session
    const isDue = found !== undefined && now() - found.lastSeenAtMs >= extendAfterMs
    const session = isDue ? await refresh(req).catch(unlessWriteRefused(found)) : found
    if (session === undefined) throw noSession()
    return session
  }

  return { loadHandedOver, find, findUnproved, isKeyProved, bind, refresh, require }
}

/**
 * `read`: the session as Redis returned it just before. Any other failure of Redis does not tell
 * whether the session still exists.
 */
const unlessWriteRefused = (read: Session) => (error: unknown) => {
  if (!isWriteRefused(error)) throw error
  return read
}
