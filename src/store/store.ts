import { randomBytes } from 'node:crypto'
import type { AttemptCounters, CountRequest } from './attempt-counters.ts'

/**
 * The store contract: what Gatehouse needs of Redis, and nothing more. `redis-store.ts` and `memory-store.ts` (embedded, one
 * process) implement it, and one suite of tests holds both to it.
 *
 * Every key has a time to live, in milliseconds; a fraction is rounded up, and zero or less ends at once. The keys of one
 * operation share a hash tag (`{…}`), and so a Redis Cluster slot; otherwise it throws a TypeError. Every operation ends within a
 * bounded time. If the store cannot be reached it throws `storeUnavailable` (503), never an answer that could mean "not there".
 */
export interface Store extends AttemptCounters {
  /**
   * Whether writes that are asked for in one turn of the event loop are carried out in that order. In a Redis Cluster they
   * go to several servers, so they are not.
   */
  readonly preservesWriteOrder: boolean

  get(key: string): Promise<string | undefined>

  /** Writes, and says whether it did: with `when: 'absent'` or `'present'` it may not. */
  set(key: string, value: string, ttlMs: number, when?: 'absent' | 'present'): Promise<boolean>

  /** Writes, and says what was there before, in one step: each of several at once gets the value of another one. */
  swap(key: string, value: string, ttlMs: number): Promise<string | undefined>

  /** Says whether there was something to delete. */
  delete(key: string): Promise<boolean>

  /** Deletes the key only if it still holds this value: how a lock is released. */
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

export type OperationName = Exclude<keyof Store, 'preservesWriteOrder' | 'ping' | 'close'>

export type OperationResult<Name extends OperationName> = Store[Name] extends (
  ...parameters: never[]
) => Promise<infer Result>
  ? Result
  : never

type Perform = <Name extends OperationName>(
  name: Name,
  parameters: Parameters<Store[Name]>,
) => Promise<OperationResult<Name>>

/** The operations of a store that carries all of them out in the same way. */
export function createOperations(perform: Perform): Pick<Store, OperationName> {
  return {
    get: (...parameters) => perform('get', parameters),
    set: (...parameters) => perform('set', parameters),
    swap: (...parameters) => perform('swap', parameters),
    delete: (...parameters) => perform('delete', parameters),
    deleteIf: (...parameters) => perform('deleteIf', parameters),
    acquire: (...parameters) => perform('acquire', parameters),
    commit: (...parameters) => perform('commit', parameters),
    indexPut: (...parameters) => perform('indexPut', parameters),
    indexAll: (...parameters) => perform('indexAll', parameters),
    indexRemove: (...parameters) => perform('indexRemove', parameters),
    countAttempt: (...parameters) => perform('countAttempt', parameters),
    refundAttempt: (...parameters) => perform('refundAttempt', parameters),
    clearWindows: (...parameters) => perform('clearWindows', parameters),
  }
}

/** Redis Cluster: keys of one command must share a slot, and two keys do when they have the same hash tag. */
export function assertOneSlot(...keys: readonly string[]): void {
  const [first, ...others] = keys
  const tag = hashTag(first ?? '')
  if (others.some((key) => hashTag(key) !== tag))
    throw new TypeError('the keys of one store operation must share a hash tag')
}

/** The part of the key that decides its slot: what stands in the first `{…}`, else the whole key. */
function hashTag(key: string): string {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : key
}

/** Redis takes whole milliseconds above zero: a fraction is rounded up, and zero or less becomes one. */
export function roundUpTtl(ttlMs: number): number {
  if (!Number.isFinite(ttlMs)) throw new TypeError('a time to live must be a finite number of milliseconds')
  return Math.max(1, Math.ceil(ttlMs))
}

/**
 * More than a user with two devices has. In a key with so many, ended windows are removed before one is begun; with n windows, one time
 * in n / 32, so that beginning one costs the same however many there are.
 */
export const CLEANUP_THRESHOLD = 32

/** For `windowId`: short, as it is stored with each window. */
export function newWindowId(): string {
  return randomBytes(4).toString('base64url')
}

/** Checks both lists of windows, whichever will count: a wrong limit must show before the day its list is used. */
export function assertValidCount({ keyPrefix, windows, override, notAfterMs = 0 }: CountRequest): void {
  if (override) assertOneSlot(keyPrefix, override.ifKeyExists)
  for (const { maxAttempts, ttlMs } of [...windows, ...(override?.windows ?? [])]) {
    roundUpTtl(ttlMs)
    if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1)
      throw new TypeError('a window must let in a whole number of attempts, one or more')
  }
  if (!Number.isFinite(notAfterMs))
    throw new TypeError('when it is too late must be a finite number of milliseconds')
}

/** Waits until every write has ended, and only then throws the first failure: a rollback meets no write that is still under way. */
export async function allSettledOrThrow<Writes extends readonly Promise<unknown>[]>(
  ...writes: Writes
): Promise<{ -readonly [Index in keyof Writes]: Awaited<Writes[Index]> }> {
  await Promise.allSettled(writes)
  return Promise.all(writes)
}
