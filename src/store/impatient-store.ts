import { storeUnavailable } from '../errors.ts'
import type { Store } from './store.ts'

/** The operations of those that can also do without the store: each process then goes by what it knows itself. */
export interface ImpatientStore extends Pick<Store, 'get' | 'set' | 'delete' | 'deleteIf'> {
  /**
   * `deleteIf` for what a store that stood still may write once it goes on: sent even while the store counts as away, and
   * nobody waits for it. Where it fails too, the value ends by itself.
   */
  takeBack(key: string, expected: string): void
}

/** After a failure, the store counts as away for so long. */
const AWAY_MS = 1000

/**
 * After a failure, every operation fails at once for a while, without asking the store. One request looks into the store
 * several times, and while the store is away each look would wait as long as an operation may take.
 */
export function createImpatientStore({
  store,
  monotonic,
}: {
  store: Store
  monotonic: () => number
}): ImpatientStore {
  let awayUntil = Number.NEGATIVE_INFINITY

  async function attempt<Reply>(operation: () => Promise<Reply>): Promise<Reply> {
    if (monotonic() < awayUntil) throw storeUnavailable()
    try {
      return await operation()
    } catch (error) {
      awayUntil = monotonic() + AWAY_MS
      throw error
    }
  }

  return {
    get: (key) => attempt(() => store.get(key)),
    set: (key, value, ttlMs, when) => attempt(() => store.set(key, value, ttlMs, when)),
    delete: (key) => attempt(() => store.delete(key)),
    deleteIf: (key, expected) => attempt(() => store.deleteIf(key, expected)),
    takeBack(key, expected) {
      store.deleteIf(key, expected).catch(() => {}) // as promised: it ends by itself then
    },
  }
}
