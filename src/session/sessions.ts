import { randomBytes } from 'node:crypto'
import type { Request } from 'express'
import { v4 as uuid } from 'uuid'
import { anothersSession, noSession, otherSession } from '../errors.ts'
import type { RevocationReason } from '../observability/audit-events.ts'
import type { Metrics } from '../observability/metrics.ts'
import { allWritten } from '../store/all-written.ts'
import type { DeviceSessions, TakenDevice } from './device-sessions.ts'
import { createLoadSession, type LoadedSession } from './load-session.ts'
import { createPersonSessions, type PersonSessions } from './person-sessions.ts'
import type { Session } from './session.ts'
import { encodeSession } from './session-codec.ts'
import type { SessionCookie } from './session-cookie.ts'
import type { SessionDevice } from './session-device.ts'
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
  /** The living session of this id and device; undefined: none. */
  get(id: string, deviceId: string): Promise<Session | undefined>
  /** Whether anything lies under this id, also what only another version can read. */
  holds(id: string): Promise<boolean>
  /**
   * Opens a session under a new id. It ends what the device had before, `shownId` by the request's cookie included, and
   * evicts the user's oldest sessions when there are too many.
   */
  open(grant: SessionGrant, shownId?: string): Promise<OpenedSession>
  /** The same in steps, for a caller that has something else to write in the same round trips. */
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
  /** How many of the user's other sessions were evicted. */
  readonly evicted: number
}

/** Its ids are chosen; nothing is written yet. */
export interface PreparedSession extends Pick<OpenedSession, 'id' | 'publicId'> {
  write(): Promise<void>
  /** Makes it the session of its device. To be called once it is written: whoever replaces it must find it. */
  takeDevice(): Promise<void>
  /**
   * To be called once it stays: ends what it replaces, and says how many of the user's other sessions were evicted. Unless
   * `mayReplaceAnothers`, it throws 403 when it would replace another user's session.
   */
  replace(shownId: string | undefined, mayReplaceAnothers: boolean): Promise<number>
  /** Undoes all of it, also when that failed: Redis may still carry it out, late. */
  takeBack(): Promise<void>
}

/** What sign-in knows of the user when it is done. */
export type SessionGrant = Omit<Session, 'publicId' | 'createdAtMs' | 'lastSeenAtMs' | 'device'> & {
  readonly deviceId: string
}

export interface SessionsParts {
  readonly records: SessionRecords
  readonly userSessions: UserSessions
  readonly deviceSessions: DeviceSessions
  readonly device: SessionDevice
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
  const { records, userSessions, deviceSessions, device, cookie, metrics, now = Date.now } = parts
  const { idleMs, absoluteMs, moveEveryMs, maxPerPerson } = parts
  const load = createLoadSession(records, cookie, device.isOwn)
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

  const get: Sessions['get'] = async (id, deviceId) => {
    const session = await read(id)
    return session !== undefined && device.isOf(session, deviceId) ? session : undefined
  }

  const persons = createPersonSessions({ records, userSessions, read, maxPerPerson, metrics, now })

  const move = async ({ id, session }: LoadedSession): Promise<Session | undefined> => {
    const moved = { ...session, lastSeenAtMs: now() }
    const ttlMs = idleExpiresAtMs(moved) - now()
    const isThere = await records.write(id, encodeSession(moved, id), ttlMs, 'present')
    return isThere ? moved : undefined // signed out in the meantime, and it stays so
  }

  const end: Sessions['end'] = async (id, reason) => {
    const session = await read(id)
    const ended = await records.remove(id)
    if (session !== undefined) await userSessions.remove(session.userId, session.publicId)
    if (ended) metrics.sessionsEnded.inc({ reason })
    return ended
  }

  const prepare: Sessions['prepare'] = ({ deviceId, ...grant }) => {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const publicId = uuid()
    let count = 0
    let taken: TakenDevice | undefined
    return {
      id,
      publicId,
      async write() {
        const at = now()
        const times = { createdAtMs: at, lastSeenAtMs: at }
        const session: Session = { ...grant, device: device.hashOf(deviceId), publicId, ...times }
        // Whoever finds the index entry before its session exists leaves it alone (person-sessions.ts).
        const [entries] = await allWritten(
          userSessions.add(grant.userId, { publicId, id, createdAtMs: at }, absoluteMs),
          records.write(id, encodeSession(session, id), idleExpiresAtMs(session) - at),
        )
        count = entries
        metrics.sessionsOpened.inc()
      },

      async takeDevice() {
        taken = await deviceSessions.take(deviceId, id, absoluteMs)
      },

      async replace(shownId, mayReplaceAnothers) {
        const replaced = new Set(taken?.replaced)
        // of before there was an index of devices; another device's is no session of this request
        const isMissing = shownId !== undefined && !replaced.has(shownId)
        if (isMissing && (await get(shownId, deviceId)) !== undefined) replaced.add(shownId)
        const isAnothers = async (one: string) => ((await read(one))?.userId ?? grant.userId) !== grant.userId
        if (!mayReplaceAnothers && (await Promise.all([...replaced].map(isAnothers))).includes(true))
          throw anothersSession('stateToken')
        await Promise.all([...replaced].map((one) => end(one, 'replaced')))
        return count > maxPerPerson ? persons.makeRoom(grant.userId) : 0
      },

      async takeBack() {
        // Deleted without reading first: on a stalled Redis the delete is then queued right behind the write, so both
        // happen or neither.
        const [wasThere] = await allWritten(
          records.remove(id),
          userSessions.remove(grant.userId, publicId),
          Promise.resolve(taken?.giveBack()),
        )
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

    get,
    holds: records.holds,

    async open(grant, shownId) {
      const { id, publicId, write, takeDevice, replace } = prepare(grant)
      await write()
      await takeDevice()
      return { id, publicId, evicted: await replace(shownId, true) }
    },

    listOf: persons.listOf,
    endAllOf: persons.endAllOf,
    end,
  }
}
