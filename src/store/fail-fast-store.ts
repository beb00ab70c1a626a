import { storeUnavailable } from '../errors.ts'
import { DependencyFailure } from '../observability/dependency-failure.ts'
import type { Store } from './store.ts'

/** For modules that also work without the store: each process then relies on its own memory. */
export interface FailFastStore extends Pick<Store, 'get' | 'set' | 'delete' | 'deleteIf'> {
  /**
   * A `deleteIf` that is not awaited and is sent even while other operations fail at once. It removes a value that a paused
   * store may still write after its caller has given up. If it fails, the value stays until it expires.
   */
  deleteIfInBackground(key: string, expected: string): void
}

const FAIL_FAST_MS = 1000

/**
 * After a failure, every operation fails at once for a second, without a call to the store. One request uses the store several
 * times, and while the store is down each operation would take the whole time-out.
 */
export function createFailFastStore({
  store,
  monotonic,
}: {
  store: Store
  monotonic: () => number
}): FailFastStore {
  let failsUntil = Number.NEGATIVE_INFINITY

  async function attempt<Reply>(operation: () => Promise<Reply>): Promise<Reply> {
    if (monotonic() < failsUntil) throw storeUnavailable(new DependencyFailure('fail_fast'))
    try {
      return await operation()
    } catch (error) {
      failsUntil = monotonic() + FAIL_FAST_MS
      throw error
    }
  }

  return {
    get: (key) => attempt(() => store.get(key)),
    set: (key, value, ttlMs, when) => attempt(() => store.set(key, value, ttlMs, when)),
    delete: (key) => attempt(() => store.delete(key)),
    deleteIf: (key, expected) => attempt(() => store.deleteIf(key, expected)),
    deleteIfInBackground(key, expected) {
      store.deleteIf(key, expected).catch(() => {}) // the value expires
    },
  }
}
