import { z } from 'zod'
import { createSeal, createSigner } from '../crypto/keys.ts'
import type { RevocationReason } from '../observability/audit-events.ts'
import { allSettledOrThrow } from '../store/all-settled-or-throw.ts'
import { KEYS } from '../store/keys.ts'
import { createSealedRecords } from '../store/sealed-records.ts'
import type { IdentifiedSession, SessionsOptions } from './session.ts'
import type { SessionStore, StoredSession } from './session-store.ts'

export type UserSessions = ReturnType<typeof createUserSessions>

const IndexRecord = z.object({
  version: z.literal(1),
  /** The id in the cookie. It is sealed in the store. */
  id: z.string(),
  createdAtMs: z.number(),
})
export type SessionIndexEntry = Readonly<Omit<z.infer<typeof IndexRecord>, 'version'>>

/** `key_mismatch`: somebody else has the cookies of a bound session. */
export type EndReason = 'signed_out' | 'replaced' | 'key_mismatch' | RevocationReason

export interface SessionToEnd extends StoredSession {
  readonly id: string
}

/** Exceptions when all sessions of a user end. */
export interface SessionsToKeep {
  readonly id?: string | undefined
  /** Sessions that were created at this time or later stay. */
  readonly createdSinceMs?: number
  /** Transactions that changed the user's password at about this time stay. */
  readonly passwordChangedAtMs?: number | undefined
  /**
   * Transactions stay whose user was named at this time or later, or whose user is not known yet
   * and that began since.
   */
  readonly transactionsSinceMs?: number | undefined
  /** The store keys of the transaction that ends the sessions. */
  readonly transactionKeys?: readonly string[]
}

/**
 * Ends all sessions of a user, and everything that could restore one. Returns how many sessions
 * were ended. `audit` is called once with that number, before an error is thrown too: what has
 * ended is audited, whatever fails afterwards. `revocation/end-all-sessions.ts` implements it.
 */
export type EndAllSessions = (
  userId: string,
  reason: RevocationReason,
  audit: (count: number) => void,
  keep?: SessionsToKeep,
) => Promise<number>

/** Lists and ends a user's sessions, and limits their number. */
export function createUserSessions(options: SessionsOptions, sessionStore: SessionStore) {
  const { maxPerUser, metrics } = options
  const index = createIndex(options)
  const { readAll, list } = createReader(index, sessionStore)

  /**
   * Deletes the record before its index entry: a session without an entry could not be ended later.
   */
  const end = async ({ id, session }: SessionToEnd, reason: EndReason): Promise<void> => {
    await sessionStore.destroy(id)
    if (session !== undefined) await index.remove(session.userId, id)
    metrics.sessionsEnded.inc({ reason })
  }

  return {
    add: index.add,
    remove: index.remove,
    list,
    end,

    /**
     * Returns how many sessions were ended. If one of them cannot be, the others end. `onEnd` is
     * called for each that has ended, before an error is thrown too.
     */
    async endAll(
      userId: string,
      reason: RevocationReason,
      keep: SessionsToKeep = {},
      onEnd: () => void = () => {},
    ): Promise<number> {
      const { createdSinceMs = Number.POSITIVE_INFINITY } = keep
      let count = 0
      const ending = (await readAll(userId))
        .filter(({ entry }) => entry.id !== keep.id && entry.createdAtMs < createdSinceMs)
        .map(async ({ entry, stored }) => {
          await sessionStore.destroy(entry.id)
          if (stored !== undefined) {
            count += 1
            metrics.sessionsEnded.inc({ reason })
            onEnd()
          }
          if (stored !== undefined || !index.isRecent(entry)) await index.remove(userId, entry.id)
        })
      await allSettledOrThrow(...ending)
      return count
    },

    /** Ends the oldest sessions above the limit, and returns how many. */
    async evict(userId: string): Promise<number> {
      const excess = (await list(userId)).slice(maxPerUser)
      await Promise.all(excess.map((session) => end(session, 'evicted')))
      return excess.length
    },
  }
}

function createReader(index: ReturnType<typeof createIndex>, sessionStore: SessionStore) {
  /** The session of each index entry. */
  const readAll = async (userId: string) =>
    Promise.all(
      (await index.all(userId)).map(async (entry) => ({ entry, stored: await sessionStore.read(entry.id) })),
    )

  /** The newest session first. Removes the entries of sessions that have ended. */
  const list = async (userId: string): Promise<readonly IdentifiedSession[]> => {
    const all = await readAll(userId)
    const ended = all.filter(({ entry, stored }) => stored === undefined && !index.isRecent(entry))
    await Promise.all(ended.map(({ entry }) => index.remove(userId, entry.id)))
    return all
      .flatMap(({ entry: { id }, stored }) =>
        stored?.session === undefined ? [] : { id, session: stored.session },
      )
      .toSorted(newestFirst)
  }

  return { readAll, list }
}

/**
 * The order is the same on every replica; otherwise two replicas that evict at once would end
 * different sessions.
 */
function newestFirst({ session: a }: IdentifiedSession, { session: b }: IdentifiedSession): number {
  return b.createdAtMs - a.createdAtMs || (b.publicId < a.publicId ? -1 : 1)
}

/** Longer than any store operation takes. */
const WRITE_MS = 60_000

/**
 * The index user → sessions: a hash for each user. An entry may outlive its session, such as one
 * that was idle for too long.
 */
function createIndex(options: SessionsOptions) {
  const { store, masterKeys, now } = options
  const { keysOf, open, seal } = createSealedRecords({
    ...options,
    seal: createSeal(masterKeys, 'user-session'),
    nameSigner: createSigner(masterKeys, 'user-session-names'),
    keyPattern: KEYS.userSessions.pattern,
    schema: IndexRecord,
    kind: 'user_session',
  })

  return {
    /** @returns how many entries the index has now */
    async add(userId: string, { id, createdAtMs }: SessionIndexEntry, ttlMs: number): Promise<number> {
      const [key, ...older] = keysOf(userId)
      const counts = await Promise.all([
        store.indexPut(key, id, seal({ version: 1, id, createdAtMs }, key), ttlMs),
        ...older.map(async (formerKey) => Object.keys(await store.indexAll(formerKey)).length),
      ])
      return counts.reduce((sum, count) => sum + count)
    },

    async all(userId: string): Promise<SessionIndexEntry[]> {
      const entriesAt = async (key: string) =>
        Object.values(await store.indexAll(key)).flatMap((raw) => open(raw, key) ?? [])
      return (await Promise.all(keysOf(userId).map(entriesAt))).flat()
    },

    async remove(userId: string, id: string): Promise<void> {
      await Promise.all(keysOf(userId).map((key) => store.indexRemove(key, id)))
    },

    /**
     * A session and its entry are written concurrently, so the session of a recent entry may not
     * exist yet.
     */
    isRecent: ({ createdAtMs }: SessionIndexEntry) => now() - createdAtMs < WRITE_MS,
  }
}
