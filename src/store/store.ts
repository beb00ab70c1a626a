import { randomUUID } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'

/** The default of `REDIS_KEY_PREFIX`. */
export const KEY_PREFIX = 'gatehouse:'

/**
 * The store contract. `redis-store.ts` and `memory-store.ts` (embedded, one process) implement it, and one test suite runs on both.
 *
 * Every key has a time to live in milliseconds; fractions are rounded up, and zero or less expires at once. The keys of one
 * operation must share a hash tag (`{…}`), and so a Redis Cluster slot; otherwise it throws a TypeError. Every operation has a time
 * limit, and is sent once. If Redis does not execute it, it throws `storeUnavailable` (503); it never returns a value that could mean
 * "not found".
 */
export interface Store extends AttemptCounters {
  /** The client, for connect-redis. Undefined for the embedded store. */
  readonly redis: Redis | Cluster | undefined

  /** The start of every key: `REDIS_KEY_PREFIX`. Several deployments can share a Redis, each with its own. */
  readonly keyPrefix: string

  /** Adds the span of a wait for `redis`, if there are traces. */
  readonly traced: <Reply>(reply: Promise<Reply>) => Promise<Reply>

  /** Whether writes are executed in the order of their calls. False for Redis Cluster, where they go to several servers. */
  readonly preservesWriteOrder: boolean

  get(key: string): Promise<string | undefined>

  /** With `when`, writes only if the key is absent or present. Returns whether it was written. */
  set(key: string, value: string, ttlMs: number, when?: 'absent' | 'present'): Promise<boolean>

  /** Writes a number unless the stored one is equal or larger. Returns whether it was written. */
  raise(key: string, value: number, ttlMs: number): Promise<boolean>

  /** Atomically writes a value and returns the previous one. */
  swap(key: string, value: string, ttlMs: number): Promise<string | undefined>

  /** Returns whether the key existed. */
  delete(key: string): Promise<boolean>

  /** Deletes the key if it has this value. Used to release locks. */
  deleteIf(key: string, expected: string): Promise<boolean>

  /**
   * Deletes the keys that begin with `prefix`, but not those that begin with `except`, found by a
   * scan of all keys. One that is written during the scan may stay. After a failure, some may be
   * deleted. Returns how many were.
   */
  deleteAll(prefix: string, except?: string): Promise<number>

  /** Acquires the lock of a record if it is free, and reads the record, in one round trip. */
  acquire(request: AcquireRequest): Promise<Acquired>

  /**
   * Writes, deletes or keeps the record, writes the shared result, and releases the lock if `token` still holds it, in one round trip.
   * False, and nothing is written, if the record has changed since it was read with the lock: a holder whose lock has expired never
   * overwrites a newer record.
   */
  commit(commit: Commit): Promise<boolean>

  /** Writes a field of an index (a Redis hash) and extends the life of the index to `ttlMs`. Returns the number of fields. */
  indexPut(key: string, field: string, value: string, ttlMs: number): Promise<number>
  indexAll(key: string): Promise<Record<string, string>>
  indexRemove(key: string, field: string): Promise<boolean>

  /** Throws `storeUnavailable` unless the store can execute every operation. */
  ping(): Promise<void>

  /** Waits for running operations, up to a time limit, and disconnects. */
  close(): Promise<void>
}

export interface AcquireRequest {
  readonly lockKey: string
  readonly recordKey: string
  /** Identifies the holder. */
  readonly token: string
  readonly lockTtlMs: number
}

export interface Acquired {
  /** The token that holds the lock: the caller's or another one. */
  readonly holder: string
  /** As stored, even if another token holds the lock. Undefined if there is no record. */
  readonly record: string | undefined
}

export interface Commit {
  readonly lockKey: string
  readonly recordKey: string
  readonly token: string
  /** The record that was read with the lock. Undefined: there was none, and there must still be none. */
  readonly expected: string | undefined
  readonly record: RecordChange
  /** Read by the requests that wait for the lock. */
  readonly shared: { readonly key: string; readonly value: string; readonly ttlMs: number }
}

export type RecordChange = { readonly write: string; readonly ttlMs: number } | 'keep' | 'delete'

/**
 * The counters of the throttling limits, one part of the store contract. A window begins with its first attempt and ends `ttlMs`
 * later; further attempts do not prolong it. The windows of one request are counted together: in all of them, or in none if one is
 * full.
 *
 * Windows are fields of a few hashes, because an attacker can create windows by the million with made-up names, and a key costs
 * Redis ten times as much memory as a field. A hash lives as long as its longest window. An ended window is ignored until then.
 */
export interface AttemptCounters {
  /** Counts one attempt, in one round trip. */
  countAttempt(request: CountRequest): Promise<CountResult>

  /** Refunds an attempt to the windows in which it was counted. Windows that have ended are not changed. */
  refundAttempt(keyPrefix: string, counted: readonly CountedWindow[]): Promise<void>

  /**
   * Ends windows early and sets the marker keys, in one step. The markers share the hash tag of the
   * prefix.
   */
  clearWindows(
    keyPrefix: string,
    windows: readonly WindowKey[],
    markers?: { readonly keys: readonly string[]; readonly ttlMs: number },
  ): Promise<void>
}

export interface CountRequest {
  /** Its hash tag puts all windows into one Redis Cluster slot. */
  readonly keyPrefix: string
  readonly windows: readonly LimitWindow[]
  /** If the key exists, these windows replace `windows`. The key shares the hash tag of the prefix. */
  readonly override?: { readonly ifKeyExists: string; readonly windows: readonly LimitWindow[] }
  /**
   * Unless the key exists, those of `windows` that are longer than `toTtlMs` are as short as that,
   * and fields of the hash of the prefix itself (`shortened`). The key shares the hash tag of the
   * prefix.
   */
  readonly shorten?: Shorten
  /**
   * Milliseconds since 1970. If the store's clock is later, nothing is counted: a store that was paused executes old commands
   * when it resumes, after their callers have given up.
   */
  readonly notAfterMs?: number
}

export interface Shorten {
  readonly unlessKeyExists: string
  readonly toTtlMs: number
}

/** The window that counts instead of one that is too long. */
export function shortened<Window extends LimitWindow>(window: Window, { toTtlMs }: Shorten): Window {
  return window.ttlMs > toTtlMs ? { ...window, ...SHORT, ttlMs: toTtlMs } : window
}

/** Where shortened windows are. */
export const SHORT = { keySuffix: '' } as const

export interface WindowKey {
  /** Appended to the prefix. Windows of about the same length share a key. */
  readonly keySuffix: string
  readonly name: string
}

export interface LimitWindow extends WindowKey {
  /** An integer, one or more. */
  readonly maxAttempts: number
  readonly ttlMs: number
}

export interface CountResult {
  /** Whether the key of `override` exists. */
  readonly overridden: boolean
  /** If a window is full, nothing was counted. Of several full windows, the one that ends last; `index` is its position. */
  readonly full: { readonly index: number; readonly leftMs: number } | undefined
  /** `notAfterMs` has passed, and nothing was counted. */
  readonly late?: boolean
  /** For `refundAttempt`; empty if nothing was counted. */
  readonly countedWindows: readonly CountedWindow[]
}

export interface CountedWindow {
  readonly window: WindowKey
  /** Distinguishes this window from earlier and later ones of the same name. */
  readonly windowId: string
}

/** Keys with the same hash tag are in the same Redis Cluster slot. */
export function assertOneSlot(...keys: readonly string[]): void {
  const [first, ...others] = keys
  const tag = hashTag(first ?? '')
  if (others.some((key) => hashTag(key) !== tag))
    throw new TypeError('the keys of one store operation must share a hash tag')
}

/** The part of a key that determines its slot: the content of the first `{…}`, else the whole key. */
function hashTag(key: string): string {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : key
}

/** Redis accepts only positive integers. */
export function roundUpTtl(ttlMs: number): number {
  if (!Number.isFinite(ttlMs)) throw new TypeError('a time to live must be a finite number of milliseconds')
  return Math.max(1, Math.ceil(ttlMs))
}

/**
 * From this number of windows in a key on, ended ones are removed when a window begins: with n windows, in one of n / 32 cases, so that
 * the average cost stays the same. A user with two devices has fewer.
 */
export const CLEANUP_THRESHOLD = 32

/** 32 random bits; short, because it is stored with each window. */
export function newWindowId(): string {
  return randomUUID().slice(0, 8)
}

/** Waits until all writes have ended, and then throws the first failure: a rollback must not overlap with a write in flight. */
export async function allSettledOrThrow<Writes extends readonly Promise<unknown>[]>(
  ...writes: Writes
): Promise<{ -readonly [Index in keyof Writes]: Awaited<Writes[Index]> }> {
  await Promise.allSettled(writes)
  return Promise.all(writes)
}

/** The key prefix of all windows of one user or one address. */
export const limitKeyPrefix = ({ keyPrefix }: Pick<Store, 'keyPrefix'>, hmac: string) =>
  `${keyPrefix}limit:{${hmac}}`

export interface LimitConfig {
  readonly attempts: number
  readonly perSeconds: number
}

export function limitWindow(key: WindowKey, { attempts, perSeconds }: LimitConfig): LimitWindow {
  return { ...key, maxAttempts: attempts, ttlMs: perSeconds * 1000 }
}

/** For the 429 of a limit whose window ends in `leftMs`. */
export function limitTimes(max: number, leftMs: number, nowMs: number) {
  return {
    limit: max,
    resetAtSeconds: Math.ceil((nowMs + leftMs) / 1000),
    retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
  }
}
