import { LRUCache } from 'lru-cache'
import type { PamDeps } from '../upstream/pam-deps.ts'

export type ExpiringValues = ReturnType<typeof createExpiringValues>

const MAX_IN_MEMORY = 10_000 // as maxSize: with max, an LRUCache allocates memory for all of them at once

/**
 * Short texts with a time to live, shared by all replicas, such as a pause or a refusal. They are kept in the store and in this
 * process's memory, so that each process still has its own values while the store is out of reach.
 */
export function createExpiringValues(
  { store, names, scope, monotonic }: Pick<PamDeps, 'store' | 'names' | 'scope' | 'monotonic'>,
  kind: 'pam-key' | 'pam-mint' | 'pam-purge',
) {
  const keyOf = (name: string) => `gatehouse:limit:${kind}:${names.sign(JSON.stringify([scope, name]))}`
  const memory = new LRUCache<string, { readonly text: string; readonly untilMs: number }>({
    maxSize: MAX_IN_MEMORY,
    sizeCalculation: () => 1,
  })
  const inMemory = (name: string): string | undefined => {
    const value = memory.get(name)
    return value !== undefined && monotonic() < value.untilMs ? value.text : undefined
  }

  return {
    async get(name: string): Promise<string | undefined> {
      const stored = await store.get(keyOf(name)).catch(() => undefined)
      return stored ?? inMemory(name)
    },

    /** With `when: 'absent'`, false if there is a value already. */
    async set(name: string, text: string, ttlMs: number, when?: 'absent'): Promise<boolean> {
      if (when === 'absent' && inMemory(name) !== undefined) return false
      const isSet = await store.set(keyOf(name), text, ttlMs, when).catch(() => true) // else only in memory
      if (isSet) memory.set(name, { text, untilMs: monotonic() + ttlMs })
      return isSet
    },

    async delete(name: string): Promise<void> {
      memory.delete(name)
      await store.delete(keyOf(name)).catch(() => false)
    },
  }
}
