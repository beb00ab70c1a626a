import type { CountingStore } from './counting.ts'

/**
 * The store contract: what Gatehouse needs of Redis and nothing more. Two forms keep it, `redis-store.ts` and
 * `memory-store.ts` (embedded, one process), and one suite of tests holds both to it.
 *
 * Every key has a time to live, in milliseconds; a fraction is rounded up, and zero or less ends at once. No
 * operation touches keys of two Redis Cluster slots: operations on several keys demand that they share a hash tag
 * (`{…}`), and throw a TypeError otherwise. Every operation ends within a bounded time; when the store is out of
 * reach it throws `storeUnavailable` (503), never an answer that could be taken for "not there".
 */
export interface Store extends CountingStore {
  /**
   * Whether writes that are asked for in one turn of the event loop are carried out in that order. In a Redis Cluster they
   * go to several servers, so they are not.
   */
  readonly keepsOrder: boolean

  get(key: string): Promise<string | undefined>

  /** Writes, and says whether it did: with `when: 'absent'` or `'present'` it may not. */
  set(key: string, value: string, ttlMs: number, when?: 'absent' | 'present'): Promise<boolean>

  /** Writes, and says what was there before, in one step: of several at once each learns of another one. */
  swap(key: string, value: string, ttlMs: number): Promise<string | undefined>

  /** Says whether there was something to delete. */
  delete(key: string): Promise<boolean>

  /** Deletes only what still holds this very value: how a lock is let go. */
  deleteIf(key: string, expected: string): Promise<boolean>

  /**
   * Takes the lock of a record if it is free, and reads the record, in one round trip. The same token gets the lock again, because a
   * command may be sent twice when a connection breaks.
   */
  acquire(request: AcquireRequest): Promise<Acquired>

  /**
   * Writes, deletes or keeps the record, leaves the shared result and releases the lock if it is still ours, in one round trip.
   * False, and nothing is written, if the record is no longer the one that was read with the lock: a late holder never
   * overwrites a newer state. A commit that writes or keeps may be sent twice, and succeeds both times.
   */
  commit(commit: Commit): Promise<boolean>

  /**
   * One field of a small index (a Redis hash); the whole index gets the new time to live if that is longer. Says how
   * many fields there are now.
   */
  indexPut(key: string, field: string, value: string, ttlMs: number): Promise<number>
  indexAll(key: string): Promise<Record<string, string>>
  indexRemove(key: string, field: string): Promise<boolean>

  /** Resolves when the store can carry out every operation; throws `storeUnavailable` otherwise. */
  ping(): Promise<void>

  /** Waits for running operations, within a bound, then leaves. */
  close(): Promise<void>
}

export interface AcquireRequest {
  readonly lockKey: string
  readonly recordKey: string
  /** Names the holder. */
  readonly token: string
  readonly lockTtlMs: number
}

export interface Acquired {
  /** The token that holds the lock now: ours or another's. */
  readonly holder: string
  /** As it is stored, also if the lock is another's; undefined: there is none. */
  readonly record: string | undefined
}

export interface Commit {
  readonly lockKey: string
  readonly recordKey: string
  readonly token: string
  /** The record that was read with the lock; undefined: there was none and there must still be none. */
  readonly expected: string | undefined
  readonly record: RecordChange
  /** For those who wait for the lock. */
  readonly shared: { readonly key: string; readonly value: string; readonly ttlMs: number }
}

export type RecordChange = { readonly write: string; readonly ttlMs: number } | 'keep' | 'delete'
