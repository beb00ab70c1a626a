import type { Request } from 'express'
import { noSession } from '../errors.ts'
import { getRequestContext } from '../http/request-context.ts'
import { isWriteRefused } from '../store/redis-errors.ts'
import { createLoadSession, type LoadSessionOptions } from './load-session.ts'
import { createSessionOpening } from './open-session.ts'
import { formatTimes, type Recheck, remainingMs, type Session, type SessionsOptions } from './session.ts'
import { createSessionStore, type SessionStore } from './session-store.ts'
import { createUserSessions } from './user-sessions.ts'

export type SessionRecords = ReturnType<typeof createSessionRecords>

/** Reads, lists and ends sessions, whatever request asks for it. */
export function createSessionRecords(options: SessionsOptions) {
  const sessionStore = createSessionStore(options)
  const userSessions = createUserSessions(options, sessionStore)
  const { voidTimes } = options
  const readValid = async (id: string) => {
    const [voidBeforeMs, stored] = await Promise.all([voidTimes.timeFor(id), sessionStore.read(id)])
    const isVoid = stored?.session !== undefined && voidTimes.isVoid(stored.session, voidBeforeMs)
    return isVoid ? undefined : stored
  }

  return {
    sessionStore,

    formatTimes: (session: Session) => formatTimes(session, options),

    /** undefined: the device has no such session. */
    async get(id: string, deviceId: string): Promise<Session | undefined> {
      const session = (await readValid(id))?.session
      return session?.deviceId === deviceId ? session : undefined
    },

    /** Also true for a record that only another version can read. */
    exists: async (id: string) => (await readValid(id)) !== undefined,

    /** For the commit of a sign-in step. */
    opening: createSessionOpening({ ...options, sessionStore, userSessions }),

    list: userSessions.list,
    end: userSessions.end,
    endAll: userSessions.endAll,
  }
}

export type Sessions = ReturnType<typeof createSessions>

export interface RequestSessionsOptions extends LoadSessionOptions {
  /** Called whenever a session is extended. Never throws. */
  readonly recheck?: Recheck | undefined
}

/** Sessions, with access to that of a request. */
export function createSessions(records: SessionRecords, options: RequestSessionsOptions) {
  return {
    ...records,
    ...createRequestSessions(options, records.sessionStore),

    /** To be called before `find`, `require` and `refresh`. */
    load: createLoadSession(options, records.sessionStore),
  }
}

/** Access to the loaded session of a request. */
function createRequestSessions(options: RequestSessionsOptions, sessionStore: SessionStore) {
  const { idleMs, now } = options
  const extendAfterMs = Math.min(options.extendEveryMs ?? 60_000, idleMs / 2)

  /** Does not extend the session. */
  const find = ({ stored }: Request) =>
    stored !== undefined && remainingMs(stored.session, options) > 0 ? stored : undefined

  /** Extends the session now. Throws 503 if it cannot: this is what the caller asks for. */
  const refresh = async (req: Request): Promise<Session | undefined> => {
    const found = find(req)
    if (found === undefined) return undefined
    const session = { ...found.session, lastSeenAtMs: now() }
    const extending = sessionStore.extend(found.id, session)
    const { requestId, address } = getRequestContext(req)
    void options.recheck?.(session, { requestId, address }) // in the background
    return (await extending) ? session : undefined
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

  return { find, refresh, require }
}

/**
 * `read`: the session as Redis returned it just before. Any other failure of Redis does not tell
 * whether the session still exists.
 */
const unlessWriteRefused = (read: Session) => (error: unknown) => {
  if (!isWriteRefused(error)) throw error
  return read
}
