import { LRUCache } from 'lru-cache'
import type { FailFastStore } from '../../store/fail-fast-store.ts'

/**
 * Short texts that end by themselves and hold on all replicas, such as a pause or a refusal. They are kept in the
 * store and in this process's memory, so that without the store each process goes by what it saw itself.
 */
export interface SharedMarks {
  get(name: string): Promise<string | undefined>
  /** Writes, and says whether it did: with `when: 'absent'` it may not. */
  set(name: string, text: string, ttlMs: number, when?: 'absent'): Promise<boolean>
  delete(name: string): Promise<void>
  /** Whether this process has set it; asks no store. */
  isKnown(name: string): boolean
}

export interface SharedMarksParts {
  readonly store: FailFastStore
  /** Where a mark is kept: names must not be readable in the store. */
  readonly keyOf: (name: string) => string
  readonly monotonic: () => number
}

const MAX_IN_MEMORY = 10_000 // a maxSize: with max, an LRUCache takes the memory for all of them at once

export function createSharedMarks({ store, keyOf, monotonic }: SharedMarksParts): SharedMarks {
  const memory = new LRUCache<string, { readonly text: string; readonly untilMs: number }>({
    maxSize: MAX_IN_MEMORY,
    sizeCalculation: () => 1,
  })

  function remembered(name: string): string | undefined {
    const mark = memory.get(name)
    return mark !== undefined && monotonic() < mark.untilMs ? mark.text : undefined
  }

  return {
    isKnown: (name) => remembered(name) !== undefined,

    async get(name) {
      try {
        return (await store.get(keyOf(name))) ?? remembered(name)
      } catch {
        return remembered(name) // the store is away
      }
    },

    async set(name, text, ttlMs, when) {
      if (when === 'absent' && remembered(name) !== undefined) return false
      try {
        if (!(await store.set(keyOf(name), text, ttlMs, when))) return false
      } catch {
        // The store is away: the mark holds in this process.
      }
      memory.set(name, { text, untilMs: monotonic() + ttlMs })
      return true
    },

    async delete(name) {
      memory.delete(name)
      try {
        await store.delete(keyOf(name))
      } catch {
        // The store is away: the mark expires.
      }
    },
  }
}
