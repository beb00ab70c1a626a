import type { Signer } from '../crypto/sign.ts'
import type { Store } from '../store/store.ts'

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
const MOST_KEYS = 1000
/** Deleted together. Waiting for a store that deletes thousands of keys, other requests would time out. */
const AT_ONCE = 100

/** The index user → store keys of one kind that end with all sessions of the user: open transactions, known devices. */
export function createUserKeys(options: UserKeysOptions) {
  const { store, names, prefix, now } = options
  const indexesOf = (userId: string) => names.signAll(userId).map((name) => `${prefix}${name}`)

  return {
    /**
     * Notes a key that is being written; the same one again notes its new time to live. Of more than `MOST_KEYS` keys, those
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
  const excess = Math.min(living.length - MOST_KEYS, AT_ONCE) // the rest when the index is pruned again
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
  for (let start = 0; start < keys.length; start += AT_ONCE) {
    const deleting = keys.slice(start, start + AT_ONCE).map(async (key) => {
      await store.delete(key)
      await store.indexRemove(index, key)
    })
    await Promise.all(deleting)
  }
}
