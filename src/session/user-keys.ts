import type { Signer } from '../crypto/sign.ts'
import type { Store } from '../store/store.ts'

/** The index user → store keys of one kind that end with all sessions of the user: open transactions, known devices. */
export interface UserKeys {
  /**
   * Notes a key that is being written; the same one again notes its new time to live. Of more than `MOST_KEYS` keys, those
   * that expire first are deleted, so that ending them all stays quick however often a user signs in.
   */
  add(userId: string, key: string, ttlMs: number): Promise<void>
  /** A key is deleted for good: the index forgets it. */
  remove(userId: string, key: string): Promise<void>
  /** Deletes what was noted, but for the keys that are kept. */
  deleteAll(userId: string, kept?: readonly string[]): Promise<void>
}

export interface UserKeysParts {
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

export function createUserKeys({ store, names, prefix, now }: UserKeysParts): UserKeys {
  const indexOf = (name: string) => `${prefix}${name}`

  /** A key leaves the index only once it is deleted: after a failure, the next attempt still finds it. */
  const deleteEach = async (index: string, keys: readonly string[]) => {
    for (let start = 0; start < keys.length; start += AT_ONCE) {
      const deleting = keys.slice(start, start + AT_ONCE).map(async (key) => {
        await store.delete(key)
        await store.indexRemove(index, key)
      })
      await Promise.all(deleting)
    }
  }

  const prune = async (index: string) => {
    const keys = Object.entries(await store.indexAll(index)).map(([key, ends]) => ({
      key,
      endsAtMs: Number(ends),
    }))
    const expired = keys.filter(({ endsAtMs }) => endsAtMs < now())
    await Promise.all(expired.map(({ key }) => store.indexRemove(index, key)))
    const living = keys.filter(({ endsAtMs }) => endsAtMs >= now())
    const excess = Math.min(living.length - MOST_KEYS, AT_ONCE) // the rest when the index is pruned again
    if (excess <= 0) return
    const soonestFirst = living.toSorted((one, other) => one.endsAtMs - other.endsAtMs)
    const soonest = soonestFirst.slice(0, excess).map(({ key }) => key)
    await deleteEach(index, soonest)
  }

  return {
    async add(userId, key, ttlMs) {
      const index = indexOf(names.sign(userId))
      const count = await store.indexPut(index, key, String(Math.ceil(now() + ttlMs)), ttlMs)
      if (count % PRUNE_EVERY === 0) await prune(index)
    },

    async remove(userId, key) {
      await Promise.all(names.signAll(userId).map((name) => store.indexRemove(indexOf(name), key)))
    },

    async deleteAll(userId, kept = []) {
      const endAt = async (index: string) => {
        const keys = Object.keys(await store.indexAll(index)).filter((key) => !kept.includes(key))
        await deleteEach(index, keys)
      }
      await Promise.all(names.signAll(userId).map((name) => endAt(indexOf(name))))
    },
  }
}
