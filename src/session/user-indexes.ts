import { z } from 'zod'
import { createSeal, createSigner, type Signer } from '../crypto/keys.ts'
import type { RevocationReason } from '../observability/audit-events.ts'
import { createSealedRecords, jsonCodec } from '../store/sealed-records.ts'
import type { Store } from '../store/store.ts'
import type { IdentifiedSession, Session, SessionStore, SessionsOptions } from './session.ts'

export type UserSessions = ReturnType<typeof createUserSessions>

export interface SessionIndexEntry {
  readonly publicId: string
  /** The id in the cookie. It is sealed in the store. */
  readonly id: string
  readonly createdAtMs: number
}

export type EndReason = 'signed_out' | 'replaced' | RevocationReason

export interface SessionToEnd {
  readonly id: string
  /** undefined: the session cannot be read. */
  readonly session: Session | undefined
}

/** Exceptions when all sessions of a user end. */
export interface SessionsToKeep {
  readonly id?: string | undefined
  /** Sessions that were created at this time or later stay. */
  readonly createdSinceMs?: number
  /** The store keys of the transaction that ends the sessions. */
  readonly transactionKeys?: readonly string[]
}

/** Lists and ends a user's sessions, and limits their number. */
export function createUserSessions(options: SessionsOptions, sessionStore: SessionStore) {
  const { maxPerUser, metrics } = options
  const index = createIndex(options)
  const list = createList(index, sessionStore)

  /** Deletes each record before its index entry: a session without an entry could not be ended later. */
  const endEach = async (userId: string, entries: readonly SessionIndexEntry[], reason: EndReason) => {
    const ended = entries.map(async (entry) => {
      const existed = await sessionStore.remove(entry.id)
      if (existed || !index.isRecent(entry)) await index.remove(userId, entry.publicId)
      return existed
    })
    const count = (await Promise.all(ended)).filter(Boolean).length
    if (count > 0) metrics.sessionsEnded.inc({ reason }, count)
    return count
  }

  return {
    add: index.add,
    remove: index.remove,
    list,

    async end({ id, session }: SessionToEnd, reason: EndReason): Promise<void> {
      if (session !== undefined) await endEach(session.userId, [{ id, ...session }], reason)
      else if (await sessionStore.remove(id)) metrics.sessionsEnded.inc({ reason })
    },

    /** Returns how many sessions were ended. */
    async endAll(userId: string, reason: RevocationReason, keep: SessionsToKeep = {}): Promise<number> {
      const { createdSinceMs = Number.POSITIVE_INFINITY } = keep
      const isOther = (entry: SessionIndexEntry) => entry.id !== keep.id && entry.createdAtMs < createdSinceMs
      return endEach(userId, (await index.all(userId)).filter(isOther), reason)
    },

    /** Ends the oldest sessions above the limit, and returns how many. */
    async evict(userId: string): Promise<number> {
      const listed = await list(userId)
      const excess = listed.slice(maxPerUser).map(({ id, session }) => ({ id, ...session }))
      return endEach(userId, excess, 'evicted')
    },
  }
}

function createList(index: ReturnType<typeof createIndex>, sessionStore: SessionStore) {
  const read = async (userId: string, entry: SessionIndexEntry): Promise<IdentifiedSession[]> => {
    const session = await sessionStore.read(entry.id)
    if (session !== undefined) return [{ id: entry.id, session }]
    const hasEnded = !index.isRecent(entry) && !(await sessionStore.exists(entry.id))
    if (hasEnded) await index.remove(userId, entry.publicId)
    return []
  }

  /** The newest session first. */
  return async (userId: string): Promise<readonly IdentifiedSession[]> => {
    const entries = await index.all(userId)
    const sessions = await Promise.all(entries.map((entry) => read(userId, entry)))
    return sessions.flat().toSorted(newestFirst)
  }
}

/** The order is the same on every replica; otherwise two replicas that evict at once would end different sessions. */
function newestFirst({ session: one }: IdentifiedSession, { session: other }: IdentifiedSession): number {
  return other.createdAtMs - one.createdAtMs || (other.publicId < one.publicId ? -1 : 1)
}

/** Longer than any store operation takes. */
const WRITE_MS = 60_000

/** The index user → sessions: a hash for each user. An entry may outlive its session, such as one that was idle for too long. */
function createIndex(options: SessionsOptions) {
  const { store, masterKeys, now } = options
  const { keysOf, open, seal } = createSealedRecords({
    ...options,
    seal: createSeal(masterKeys, 'user-session'),
    names: createSigner(masterKeys, 'user-session-names'),
    keyOf: (hmac) => `gatehouse:user-sess:${hmac}`,
    codec: jsonCodec(
      z.object({ version: z.literal(1), publicId: z.string(), id: z.string(), createdAtMs: z.number() }),
    ),
    kind: 'user_session',
  })

  return {
    /** @returns how many entries the index has now */
    async add(
      userId: string,
      { publicId, id, createdAtMs }: SessionIndexEntry,
      ttlMs: number,
    ): Promise<number> {
      const [key, ...older] = keysOf(userId)
      const counts = await Promise.all([
        store.indexPut(key, publicId, seal({ version: 1, publicId, id, createdAtMs }, key), ttlMs),
        ...older.map(async (one) => Object.keys(await store.indexAll(one)).length),
      ])
      return counts.reduce((sum, count) => sum + count)
    },

    async all(userId: string): Promise<SessionIndexEntry[]> {
      const entriesAt = async (key: string) =>
        Object.values(await store.indexAll(key)).flatMap((raw) => open(raw, key) ?? [])
      return (await Promise.all(keysOf(userId).map(entriesAt))).flat()
    },

    async remove(userId: string, publicId: string): Promise<void> {
      await Promise.all(keysOf(userId).map((key) => store.indexRemove(key, publicId)))
    },

    /** A session and its entry are written concurrently, so the session of a recent entry may not exist yet. */
    isRecent: ({ createdAtMs }: SessionIndexEntry) => now() - createdAtMs < WRITE_MS,
  }
}

export type UserKeys = ReturnType<typeof createUserKeys>

export interface UserKeysOptions {
  readonly store: Pick<Store, 'indexPut' | 'indexAll' | 'indexRemove' | 'delete'>
  readonly names: Signer
  /** Of the Redis keys of the index. */
  readonly prefix: string
  readonly now: () => number
}

/** The index is pruned each time that it has grown by this many keys. */
const PRUNE_EVERY = 32
/** More devices and open transactions than any user has. */
const MAX_KEYS = 1000
/** Keys that are deleted concurrently. If thousands of keys were deleted at once, other requests would time out. */
const BATCH_SIZE = 100

/** The index user → store keys that are deleted when all sessions of the user end: open transactions, or known devices. */
export function createUserKeys(options: UserKeysOptions) {
  const { store, names, prefix, now } = options
  const indexesOf = (userId: string) => names.signAll(userId).map((name) => `${prefix}${name}`)

  return {
    /**
     * Adds a key that is being written, or updates its time to live. If there are more than `MAX_KEYS` keys, those that expire first
     * are deleted, so that `deleteAll` stays fast however often a user signs in.
     */
    async add(userId: string, key: string, ttlMs: number): Promise<void> {
      const index = `${prefix}${names.sign(userId)}`
      const count = await store.indexPut(index, key, String(Math.ceil(now() + ttlMs)), ttlMs)
      if (count % PRUNE_EVERY === 0) await prune(options, index)
    },

    /** To be called when a key was deleted. */
    async remove(userId: string, key: string): Promise<void> {
      await Promise.all(indexesOf(userId).map((index) => store.indexRemove(index, key)))
    },

    async deleteAll(userId: string, except: readonly string[] = []): Promise<void> {
      const deleting = indexesOf(userId).map(async (index) => {
        const keys = Object.keys(await store.indexAll(index)).filter((key) => !except.includes(key))
        await deleteEach(store, index, keys)
      })
      await Promise.all(deleting)
    },
  }
}

async function prune({ store, now }: UserKeysOptions, index: string): Promise<void> {
  const entries = Object.entries(await store.indexAll(index))
  const keys = entries.map(([key, expires]) => ({ key, expiresAtMs: Number(expires) }))
  const expired = keys.filter(({ expiresAtMs }) => expiresAtMs < now())
  await Promise.all(expired.map(({ key }) => store.indexRemove(index, key)))
  const live = keys.filter(({ expiresAtMs }) => expiresAtMs >= now())
  const excess = Math.min(live.length - MAX_KEYS, BATCH_SIZE) // the rest is deleted when the index is pruned again
  if (excess <= 0) return
  const byExpiry = live.toSorted((one, other) => one.expiresAtMs - other.expiresAtMs)
  await deleteEach(
    store,
    index,
    byExpiry.slice(0, excess).map(({ key }) => key),
  )
}

/** Removes each key from the index after its deletion, so that a retry after a failure still finds it. */
async function deleteEach(
  store: UserKeysOptions['store'],
  index: string,
  keys: readonly string[],
): Promise<void> {
  for (let start = 0; start < keys.length; start += BATCH_SIZE) {
    const deleting = keys.slice(start, start + BATCH_SIZE).map(async (key) => {
      await store.delete(key)
      await store.indexRemove(index, key)
    })
    await Promise.all(deleting)
  }
}
