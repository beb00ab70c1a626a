import { randomUUID } from 'node:crypto'
import type { Store } from './store.ts'

const TTL_MS = 10_000

/**
 * Runs every Redis command of the store on a key of its own, which it deletes. Throws if the Redis user lacks a right to a command, to
 * scripts or to the broker's keys, if Redis is out of memory, or if it is read-only.
 */
export async function probeStore(
  store: Pick<
    Store,
    'set' | 'get' | 'delete' | 'deleteIf' | 'countAttempt' | `index${'Put' | 'All' | 'Remove'}`
  >,
  key = `gatehouse:ping:${randomUUID()}`,
): Promise<void> {
  const window = { keySuffix: '', name: 'window', maxAttempts: 1, ttlMs: TTL_MS }
  await Promise.all([
    store.set(key, 'value', TTL_MS),
    store.get(key),
    store.deleteIf(key, 'value'),
    store.indexPut(key, 'field', 'value', TTL_MS),
    store.indexAll(key),
    store.indexRemove(key, 'field'),
    store.countAttempt({
      keyPrefix: key,
      windows: [window],
      override: { ifKeyExists: key, windows: [window] },
    }),
    store.delete(key),
  ])
}
