import type { RevocationReason } from '../observability/audit-events.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Session } from './session.ts'
import type { SessionRecords } from './session-records.ts'
import type { UserSession, UserSessions } from './user-sessions.ts'

/** All sessions of one person: they are listed, ended, and never more than so many. */
export interface PersonSessions {
  /** A person's living sessions, the newest first, each with its own id. */
  listOf(userId: string): Promise<readonly LivingSession[]>
  /** Ends every session of a person but those that stay; says how many there were. */
  endAllOf(userId: string, reason: RevocationReason, staying?: Staying): Promise<number>
  /** Evicts the oldest until no more than the cap are left; says how many there were. */
  makeRoom(userId: string): Promise<number>
}

export interface Staying {
  /** The session of this id. */
  readonly id?: string | undefined
  /** What was opened since then. */
  readonly sinceMs?: number
}

export interface LivingSession {
  readonly id: string
  readonly session: Session
}

export interface PersonSessionsParts {
  readonly records: SessionRecords
  readonly userSessions: UserSessions
  /** The living session of an id. */
  readonly read: (id: string) => Promise<Session | undefined>
  readonly maxPerPerson: number
  readonly metrics: Metrics
  readonly now: () => number
}

/** Longer than any store operation takes: by then a session is there, or it never will be. */
const OPENING_MS = 60_000

export function createPersonSessions(parts: PersonSessionsParts): PersonSessions {
  const { records, userSessions, read, maxPerPerson, metrics, now } = parts

  /** A session and its index entry are written at once, and the entry may land first: its session may still come. */
  const isStillToCome = ({ createdAtMs }: UserSession) => now() - createdAtMs < OPENING_MS

  const listOf = async (userId: string): Promise<readonly LivingSession[]> => {
    const living = await Promise.all(
      (await userSessions.all(userId)).map(async (entry) => {
        const session = await read(entry.id)
        if (session !== undefined) return { id: entry.id, session }
        const isOver = !isStillToCome(entry) && !(await records.holds(entry.id)) // idled out, or ended
        if (isOver) await userSessions.remove(userId, entry.publicId)
        return undefined
      }),
    )
    return living.filter((one) => one !== undefined).toSorted(newestFirst)
  }

  /** Each one's record goes first: an entry without a session does no harm, a session without an entry does. */
  const endEach = async (userId: string, entries: readonly UserSession[], reason: RevocationReason) => {
    const ended = await Promise.all(
      entries.map(async (entry) => {
        const wasThere = await records.remove(entry.id)
        if (wasThere || !isStillToCome(entry)) await userSessions.remove(userId, entry.publicId)
        return wasThere
      }),
    )
    const count = ended.filter(Boolean).length
    if (count > 0) metrics.sessionsEnded.inc({ reason }, count)
    return count
  }

  return {
    listOf,

    async endAllOf(userId, reason, { id: stayingId, sinceMs = Number.POSITIVE_INFINITY } = {}) {
      const all = await userSessions.all(userId)
      const others = all.filter(({ id, createdAtMs }) => id !== stayingId && createdAtMs < sinceMs)
      return endEach(userId, others, reason)
    },

    async makeRoom(userId) {
      const living = await listOf(userId)
      const over = living.slice(maxPerPerson).map(({ id, session }) => ({ id, ...session }))
      return endEach(userId, over, 'too_many')
    },
  }
}

/** The same order on every replica, or two that make room at once would end different ones. */
function newestFirst({ session: one }: LivingSession, { session: other }: LivingSession): number {
  return other.createdAtMs - one.createdAtMs || (other.publicId < one.publicId ? -1 : 1)
}
