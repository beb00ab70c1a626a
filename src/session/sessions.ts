import { randomBytes } from 'node:crypto'
import type { Request } from 'express'
import { v4 as uuid } from 'uuid'
import { noSession, otherSession } from '../errors.ts'
import type { RevocationReason } from '../observability/audit-events.ts'
import type { Metrics } from '../observability/metrics.ts'
import { allWritten } from '../store/all-written.ts'
import { createLoadSession, type LoadedSession } from './load-session.ts'
import { createPersonSessions, type PersonSessions } from './person-sessions.ts'
import type { Session } from './session.ts'
import { encodeSession } from './session-codec.ts'
import type { SessionCookie } from './session-cookie.ts'
import type { SessionRecords } from './session-records.ts'
import type { UserSessions } from './user-sessions.ts'

/** Opens, reads, moves and ends sessions. Idle and absolute limits are kept here, by our clock. */
export interface Sessions extends Pick<PersonSessions, 'listOf' | 'endAllOf'> {
  /** The request's session, not moved; undefined when there is none. */
  find(req: Request): Promise<Session | undefined>
  /** The request's session, moved when it is time; 401 E0000005 when there is none. */
  require(req: Request): Promise<Session>
  /** Moves the session now, whatever the time; undefined when there is none. */
  refresh(req: Request): Promise<Session | undefined>
  /** Whose living session this id is; undefined: none. */
  ownerOf(id: string): Promise<string | undefined>
  /** Whether anything lies under this id, also what only another version can read. */
  holds(id: string): Promise<boolean>
  /**
   * Opens a session under a new id; the person's oldest ones give way when there are too many. The one of `replacedId`,
   * that this browser had before, is the caller's to end.
   */
  open(grant: SessionGrant, replacedId?: string): Promise<OpenedSession>
  /** The same in steps, for a caller that has something else to write in the same round trip. */
  prepare(grant: SessionGrant): PreparedSession
  end(id: string, reason: EndReason): Promise<boolean>
  idleExpiresAtMs(session: Session): number
  expiresAtMs(session: Session): number
}

export type EndReason = 'signed_out' | 'replaced' | 'orphaned' | RevocationReason

export interface OpenedSession {
  /** For the cookie. */
  readonly id: string
  readonly publicId: string
  /** How many of the person's other sessions gave way. */
  readonly gaveWay: number
}

/** Its ids are chosen; nothing is written yet. */
export interface PreparedSession extends Pick<OpenedSession, 'id' | 'publicId'> {
  write(): Promise<void>
  /** To be called once it is written and stays; says how many of the person's other sessions gave way. */
  makeRoom(replacedId: string | undefined): Promise<number>
  /** Undoes `write`, also when that failed: Redis may still carry it out, late. */
  takeBack(): Promise<void>
}

/** What sign-in knows of the person when it is done. */
export type SessionGrant = Omit<Session, 'publicId' | 'createdAtMs' | 'lastSeenAtMs'>

export interface SessionsParts {
  readonly records: SessionRecords
  readonly userSessions: UserSessions
  readonly cookie: SessionCookie
  readonly idleMs: number
  readonly absoluteMs: number
  /** A session is written at most this often when it is merely used. */
  readonly moveEveryMs: number
  readonly maxPerPerson: number
  readonly metrics: Metrics
  readonly now?: () => number
}

const ID_BYTES = 32

export function createSessions(parts: SessionsParts): Sessions {
  const { records, userSessions, cookie, idleMs, absoluteMs, moveEveryMs, metrics, now = Date.now } = parts
  const { maxPerPerson } = parts
  const load = createLoadSession(records, cookie)
  const expiresAtMs = (session: Session) => session.createdAtMs + absoluteMs
  const idleExpiresAtMs = (session: Session) => Math.min(session.lastSeenAtMs + idleMs, expiresAtMs(session))

  const loadLiving = async (req: Request): Promise<LoadedSession | undefined> => {
    const loaded = await load(req)
    if (loaded === undefined || now() >= idleExpiresAtMs(loaded.session)) return undefined
    const expected = req.headers['x-gatehouse-session']
    if (expected !== undefined && expected !== loaded.session.publicId) throw otherSession()
    return loaded
  }

  /** The living session of an id, without a request. */
  const read = async (id: string): Promise<Session | undefined> => {
    const session = await records.read(id)
    return session !== undefined && now() < idleExpiresAtMs(session) ? session : undefined
  }

  const persons = createPersonSessions({ records, userSessions, read, maxPerPerson, metrics, now })

  const move = async ({ id, session }: LoadedSession): Promise<Session | undefined> => {
    const moved = { ...session, lastSeenAtMs: now() }
    const ttlMs = idleExpiresAtMs(moved) - now()
    const isThere = await records.write(id, encodeSession(moved, id), ttlMs, 'present')
    return isThere ? moved : undefined // signed out in the meantime, and it stays so
  }

  const prepare: Sessions['prepare'] = (grant) => {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const publicId = uuid()
    let count = 0
    return {
      id,
      publicId,
      async write() {
        const at = now()
        const session: Session = { ...grant, publicId, createdAtMs: at, lastSeenAtMs: at }
        // Whoever finds the index entry before its session exists leaves it alone (person-sessions.ts).
        const [entries] = await allWritten(
          userSessions.add(grant.userId, { publicId, id, createdAtMs: at }, absoluteMs),
          records.write(id, encodeSession(session, id), idleExpiresAtMs(session) - at),
        )
        count = entries
        metrics.sessionsOpened.inc()
      },
      makeRoom: async (replacedId) => (count > maxPerPerson ? persons.makeRoom(grant.userId, replacedId) : 0),
      async takeBack() {
        // Deleted without reading first: on a stalled Redis the delete is then queued right behind the write, so both
        // happen or neither.
        const [wasThere] = await allWritten(records.remove(id), userSessions.remove(grant.userId, publicId))
        if (wasThere) metrics.sessionsEnded.inc({ reason: 'orphaned' })
      },
    }
  }

  return {
    prepare,
    expiresAtMs,
    idleExpiresAtMs,

    find: async (req) => (await loadLiving(req))?.session,

    async require(req) {
      const living = await loadLiving(req)
      if (living === undefined) throw noSession()
      if (now() - living.session.lastSeenAtMs < moveEveryMs) return living.session
      const moved = await move(living)
      if (moved === undefined) throw noSession()
      return moved
    },

    async refresh(req) {
      const living = await loadLiving(req)
      return living === undefined ? undefined : move(living)
    },

    ownerOf: async (id) => (await read(id))?.userId,
    holds: records.holds,

    async open(grant, replacedId) {
      const { id, publicId, write, makeRoom } = prepare(grant)
      await write()
      return { id, publicId, gaveWay: await makeRoom(replacedId) }
    },

    listOf: persons.listOf,
    endAllOf: persons.endAllOf,

    async end(id, reason) {
      const session = await read(id)
      const ended = await records.remove(id)
      if (session !== undefined) await userSessions.remove(session.userId, session.publicId)
      if (ended) metrics.sessionsEnded.inc({ reason })
      return ended
    },
  }
}
