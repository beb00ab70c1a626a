import { LRUCache } from 'lru-cache'
import type { PamDeps, SharedValues } from '../upstream/pam-deps.ts'

const MAX_IN_MEMORY = 10_000 // as maxSize: with max, an LRUCache allocates memory for all of them at once

/**
 * Short texts with a time to live, shared by all replicas, such as a pause. A value that this process has set also applies while the
 * store is out of reach, and if the store was when the value was set. Otherwise another replica may have replaced or ended it.
 */
export function createSharedValues({ store, monotonic }: Pick<PamDeps, 'store' | 'monotonic'>): SharedValues {
  const own = new LRUCache<string, { text: string; untilMs: number; isStored: boolean }>({
    maxSize: MAX_IN_MEMORY,
    sizeCalculation: () => 1,
  })

  return {
    async get(key) {
      try {
        const stored = await store.get(key)
        if (stored !== undefined || own.get(key)?.isStored) return stored
      } catch {} // out of reach
      const value = own.get(key)
      return value !== undefined && monotonic() < value.untilMs ? value.text : undefined
    },

    async set(key, text, ttlMs) {
      const value = { text, untilMs: monotonic() + ttlMs, isStored: false }
      own.set(key, value)
      value.isStored = await store.set(key, text, ttlMs).catch(() => false)
    },
  }
}
