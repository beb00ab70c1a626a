import { LRUCache } from 'lru-cache'
import type { PamDeps } from '../upstream/pam-deps.ts'

/**
 * Short texts with a time to live that hold on all replicas, such as a pause or a refusal. They are kept in the store and in this
 * process's memory, so that without the store each process relies on what it has set itself.
 */
export interface SharedValues {
  get(name: string): Promise<string | undefined>
  /** With `when: 'absent'`, false if there is a value already. */
  set(name: string, text: string, ttlMs: number, when?: 'absent'): Promise<boolean>
  delete(name: string): Promise<void>
}

const MAX_IN_MEMORY = 10_000 // as maxSize: with max, an LRUCache allocates memory for all of them at once

export function createSharedValues(
  { store, names, scope, monotonic }: Pick<PamDeps, 'store' | 'names' | 'scope' | 'monotonic'>,
  kind: 'pam-key' | 'pam-mint' | 'pam-purge',
): SharedValues {
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
    async get(name) {
      const stored = await store.get(keyOf(name)).catch(() => undefined)
      return stored ?? inMemory(name)
    },

    async set(name, text, ttlMs, when) {
      if (when === 'absent' && inMemory(name) !== undefined) return false
      // Without the store, the value holds in this process.
      if (!(await store.set(keyOf(name), text, ttlMs, when).catch(() => true))) return false
      memory.set(name, { text, untilMs: monotonic() + ttlMs })
      return true
    },

    async delete(name) {
      memory.delete(name)
      await store.delete(keyOf(name)).catch(() => false)
    },
  }
}
