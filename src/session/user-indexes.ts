import { z } from 'zod'
import { createSeal, createSigner, type Signer } from '../crypto/keys.ts'
import type { RevocationReason } from '../observability/audit-events.ts'
import { createSealedRecords, jsonCodec } from '../store/sealed-records.ts'
import type { Store } from '../store/store.ts'
import type { IdentifiedSession, Session, SessionsOptions } from './session.ts'
import type { SessionStore } from './session-store.ts'

export type UserSessions = ReturnType<typeof createUserSessions>

export interface SessionIndexEntry {
  readonly publicId: string
  /** The session's own id; sealed in the store. */
  readonly id: string
  readonly createdAtMs: number
}

export type EndReason = 'signed_out' | 'replaced' | RevocationReason

export interface SessionToEnd {
  readonly id: string
  /** undefined: it cannot be read. */
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

/** A user's sessions are listed, ended, and never more than so many. */
export function createUserSessions(options: SessionsOptions, sessionStore: SessionStore) {
  const { maxPerUser, metrics } = options
  const index = createIndex(options)
  const list = createListing(index, sessionStore)

  /** Each one's record goes first: an entry without a session does no harm, a session without an entry does. */
  const endEach = async (userId: string, entries: readonly SessionIndexEntry[], reason: EndReason) => {
    const ended = entries.map(async (entry) => {
      const wasThere = await sessionStore.remove(entry.id)
      if (wasThere || !index.isNew(entry)) await index.remove(userId, entry.publicId)
      return wasThere
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

    /** Ends every session of a user but those that stay; says how many there were. */
    async endAll(userId: string, reason: RevocationReason, keep: SessionsToKeep = {}): Promise<number> {
      const { id: keepId, createdSinceMs = Number.POSITIVE_INFINITY } = keep
      const isOther = ({ id, createdAtMs }: SessionIndexEntry) =>
        id !== keepId && createdAtMs < createdSinceMs
      return endEach(userId, (await index.all(userId)).filter(isOther), reason)
    },

    /** Ends the oldest until no more than the limit are left; says how many there were. */
    async evict(userId: string): Promise<number> {
      const listed = await list(userId)
      const over = listed.slice(maxPerUser).map(({ id, session }) => ({ id, ...session }))
      return endEach(userId, over, 'too_many')
    },
  }
}

function createListing(index: ReturnType<typeof createIndex>, sessionStore: SessionStore) {
  const read = async (userId: string, entry: SessionIndexEntry): Promise<IdentifiedSession[]> => {
    const session = await sessionStore.read(entry.id)
    if (session !== undefined) return [{ id: entry.id, session }]
    const isOver = !index.isNew(entry) && !(await sessionStore.exists(entry.id)) // idled out, or ended
    if (isOver) await index.remove(userId, entry.publicId)
    return []
  }

  /** A user's living sessions, the newest first. */
  return async (userId: string): Promise<readonly IdentifiedSession[]> => {
    const entries = await index.all(userId)
    const living = await Promise.all(entries.map((entry) => read(userId, entry)))
    return living.flat().toSorted(newestFirst)
  }
}

/** The same order on every replica, or two that evict at once would end different ones. */
function newestFirst({ session: one }: IdentifiedSession, { session: other }: IdentifiedSession): number {
  return other.createdAtMs - one.createdAtMs || (other.publicId < one.publicId ? -1 : 1)
}

/** Longer than any store operation takes. */
const OPENING_MS = 60_000

/** The index user → sessions: a hash for each user. An entry may outlive its session (one that idled out). */
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
    /** Says how many entries there are now. */
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

    /** A session and its entry are written at once, and the entry may be there first: its session may still come. */
    isNew: ({ createdAtMs }: SessionIndexEntry) => now() - createdAtMs < OPENING_MS,
  }
}

export type UserKeys = ReturnType<typeof createUserKeys>

export interface UserKeysOptions {
  readonly store: Pick<Store, 'indexPut' | 'indexAll' | 'indexRemove' | 'delete'>
  readonly names: Signer
  /** What the index's own key begins with. */
  readonly prefix: string
  readonly now: () => number
}

/** After so many more keys, the index is pruned. */
const PRUNE_EVERY = 32
/** More browsers and open sign-ins than any user has. */
const MAX_KEYS = 1000
/** Deleted together. Waiting for a store that deletes thousands of keys, other requests would time out. */
const BATCH_SIZE = 100

/** The index user → store keys of one kind that end with all sessions of the user: open transactions, known devices. */
export function createUserKeys(options: UserKeysOptions) {
  const { store, names, prefix, now } = options
  const indexesOf = (userId: string) => names.signAll(userId).map((name) => `${prefix}${name}`)

  return {
    /**
     * Notes a key that is being written; the same one again notes its new time to live. Of more than `MAX_KEYS` keys, those
     * that expire first are deleted, so that ending them all stays quick however often a user signs in.
     */
    async add(userId: string, key: string, ttlMs: number): Promise<void> {
      const index = `${prefix}${names.sign(userId)}`
      const count = await store.indexPut(index, key, String(Math.ceil(now() + ttlMs)), ttlMs)
      if (count % PRUNE_EVERY === 0) await prune(options, index)
    },

    /** A key is deleted for good: the index forgets it. */
    async remove(userId: string, key: string): Promise<void> {
      await Promise.all(indexesOf(userId).map((index) => store.indexRemove(index, key)))
    },

    /** Deletes what was noted, but for the keys that are kept. */
    async deleteAll(userId: string, kept: readonly string[] = []): Promise<void> {
      const deleting = indexesOf(userId).map(async (index) => {
        const keys = Object.keys(await store.indexAll(index)).filter((key) => !kept.includes(key))
        await deleteEach(store, index, keys)
      })
      await Promise.all(deleting)
    },
  }
}

async function prune({ store, now }: UserKeysOptions, index: string): Promise<void> {
  const entries = Object.entries(await store.indexAll(index))
  const keys = entries.map(([key, ends]) => ({ key, endsAtMs: Number(ends) }))
  const expired = keys.filter(({ endsAtMs }) => endsAtMs < now())
  await Promise.all(expired.map(({ key }) => store.indexRemove(index, key)))
  const living = keys.filter(({ endsAtMs }) => endsAtMs >= now())
  const excess = Math.min(living.length - MAX_KEYS, BATCH_SIZE) // the rest when the index is pruned again
  if (excess <= 0) return
  const soonestFirst = living.toSorted((one, other) => one.endsAtMs - other.endsAtMs)
  await deleteEach(
    store,
    index,
    soonestFirst.slice(0, excess).map(({ key }) => key),
  )
}

/** A key leaves the index only once it is deleted: after a failure, the next attempt still finds it. */
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
