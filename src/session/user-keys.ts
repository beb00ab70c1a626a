import type { Signer } from '../crypto/sign.ts'
import type { Store } from '../store/store.ts'

/** The index user → store keys of one kind that end with all sessions of the user: open transactions, known devices. */
export interface UserKeys {
  /** Notes a key that is being written; the same one again notes its new time to live. */
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

/** After so many more keys, those that have expired are removed from the index. */
const PRUNE_EVERY = 32

export function createUserKeys({ store, names, prefix, now }: UserKeysParts): UserKeys {
  const indexOf = (name: string) => `${prefix}${name}`

  const prune = async (index: string) => {
    const expired = Object.entries(await store.indexAll(index)).filter(
      ([, endsAtMs]) => Number(endsAtMs) < now(),
    )
    await Promise.all(expired.map(([key]) => store.indexRemove(index, key)))
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
        await Promise.all(keys.flatMap((key) => [store.delete(key), store.indexRemove(index, key)]))
      }
      await Promise.all(names.signAll(userId).map((name) => endAt(indexOf(name))))
    },
  }
}
