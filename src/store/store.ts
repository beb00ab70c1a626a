import type { AttemptCounters } from './attempt-counters.ts'
import type { Indexes } from './indexes.ts'
import type { LockedRecords } from './locked-records.ts'
import type { Values } from './values.ts'

/**
 * The store contract. `redis-store.ts` and `memory-store.ts` (embedded, one process) implement it,
 * and one test suite runs on both.
 *
 * Every key has a time to live in milliseconds; fractions are rounded up, and zero or less expires
 * at once. The keys of one operation must share a hash tag (`{…}`), and so a Redis Cluster slot;
 * otherwise it throws a TypeError. Every operation has a time limit, and is sent once. If Redis
 * does not execute it, it throws `storeUnavailable` (503); it never returns a value that could mean
 * "not found".
 */
export interface Store extends Values, LockedRecords, Indexes, AttemptCounters {
  /**
   * The start of every key: `REDIS_KEY_PREFIX`. Several deployments can share a Redis, each with
   * its own.
   */
  readonly keyPrefix: string

  /**
   * Whether writes are executed in the order of their calls. False for Redis Cluster, where they go
   * to several servers.
   */
  readonly preservesWriteOrder: boolean

  /** Throws `storeUnavailable` unless the store can execute every operation. */
  ping(): Promise<void>

  /** The store's clock, in milliseconds since 1970. In a cluster, that of one of its nodes. */
  time(): Promise<number>

  /** Waits for running operations, up to a time limit, and disconnects. */
  close(): Promise<void>
}
