import type { Signer } from '../crypto/keys.ts'
import type { SessionsToKeep } from '../session/user-sessions.ts'
import type { Store } from '../store/store.ts'

export type UserKeys = ReturnType<typeof createUserKeys>

export interface UserKeysOptions {
  readonly store: Pick<Store, 'indexPut' | 'indexAll' | 'indexRemove' | 'delete'>
  readonly nameSigner: Signer
  /** Of the Redis keys of the index. */
  readonly prefix: string
  readonly now: () => number
}

/** The index is pruned each time that it has grown by this many keys. */
const PRUNE_EVERY = 32
/** More devices and open transactions than any user has. */
const MAX_KEYS = 1000
/**
 * Keys that are deleted concurrently. If thousands of keys were deleted at once, other requests
 * would time out.
 */
const BATCH_SIZE = 100

/**
 * The index user → store keys that are deleted when all sessions of the user end: open
 * transactions, or known devices. The value of an entry is when the key expires, when the
 * transaction changed the password (or `-`), and when the entry was written.
 */
export function createUserKeys(options: UserKeysOptions) {
  const { store, nameSigner, prefix, now } = options
  const indexesOf = (userId: string) => nameSigner.signAll(userId).map((name) => `${prefix}${name}`)

  return {
    /**
     * Adds keys that are being written, or updates their time to live. If there are more than
     * `MAX_KEYS` keys, those that expire first are deleted, so that `deleteAll` stays fast however
     * often a user signs in.
     */
    async add(
      userId: string,
      keys: readonly string[],
      ttlMs: number,
      passwordChangedAtMs?: number,
    ): Promise<void> {
      const index = `${prefix}${nameSigner.sign(userId)}`
      const nowMs = Math.ceil(now())
      const times = `${Math.ceil(nowMs + ttlMs)} ${passwordChangedAtMs ?? '-'} ${nowMs}`
      const count = await store.indexPut(index, keys, times, ttlMs)
      if (count % PRUNE_EVERY < keys.length) await prune(options, index)
    },

    /** To be called when a key was deleted. */
    async remove(userId: string, key: string): Promise<void> {
      await Promise.all(indexesOf(userId).map((index) => store.indexRemove(index, key)))
    },

    async deleteAll(userId: string, keep: TransactionsToKeep = {}): Promise<void> {
      const deleting = indexesOf(userId).map(async (index) => {
        const entries = Object.entries(await store.indexAll(index))
        const keys = entries.filter((entry) => !isKept(entry, keep)).map(([key]) => key)
        await deleteEach(store, index, keys)
      })
      await Promise.all(deleting)
    },
  }
}

/** A password change is recorded before it is sent, and Okta's clock may differ. */
const SAME_CHANGE_MS = 30_000

type TransactionsToKeep = Pick<
  SessionsToKeep,
  'transactionKeys' | 'passwordChangedAtMs' | 'transactionsSinceMs'
>

function isKept([key, times]: [key: string, times: string], keep: TransactionsToKeep): boolean {
  const { transactionKeys = [], passwordChangedAtMs = Number.NaN, transactionsSinceMs = Number.NaN } = keep
  const [, changedAtMs = Number.NaN, addedAtMs = Number.NaN] = times.split(' ').map(Number)
  return (
    transactionKeys.includes(key) ||
    Math.abs(changedAtMs - passwordChangedAtMs) < SAME_CHANGE_MS ||
    addedAtMs >= transactionsSinceMs
  )
}

async function prune({ store, now }: UserKeysOptions, index: string): Promise<void> {
  const entries = Object.entries(await store.indexAll(index))
  const keys = entries.map(([key, expires]) => ({ key, expiresAtMs: Number.parseInt(expires, 10) }))
  const expired = keys.filter(({ expiresAtMs }) => expiresAtMs < now())
  await Promise.all(expired.map(({ key }) => store.indexRemove(index, key)))
  const live = keys.filter(({ expiresAtMs }) => expiresAtMs >= now())
  // the rest is deleted when the index is pruned again
  const excess = Math.min(live.length - MAX_KEYS, BATCH_SIZE)
  if (excess <= 0) return
  const byExpiry = live.toSorted((a, b) => a.expiresAtMs - b.expiresAtMs)
  const oldest = byExpiry.slice(0, excess).map(({ key }) => key)
  await deleteEach(store, index, oldest)
}

/**
 * Removes each key from the index after its deletion, so that a retry after a failure still finds
 * it.
 */
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
