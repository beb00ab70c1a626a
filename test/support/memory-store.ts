import { afterEach, beforeEach } from '@jest/globals'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'

export const clock = { now: 0 }
export let entries: Map<string, MemoryEntry>
export let store: Store

/**
 * Registers the hooks that give each test an empty embedded store, whose clock the test controls.
 */
export function useMemoryStore(): void {
  beforeEach(() => {
    clock.now = 1000
    entries = new Map()
    store = createMemoryStore({ entries, monotonic: () => clock.now })
  })
  afterEach(() => store.close())
}
