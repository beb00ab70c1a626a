/**
 * Counting attempts, one part of the store contract. A window begins with its first attempt and ends `ttlMs` later; further attempts
 * do not prolong it. Several windows of one keyPrefix are counted together: in all of them, or in none if one is full.
 *
 * Windows are fields of few keys, because a flood of new names leaves them all behind: a key costs Redis ten times what a field
 * does. A key lives as long as the longest window that was begun in it; an ended window counts for nothing until then.
 */
export interface AttemptCounters {
  /** Counts one attempt, in one round trip. Throws a TypeError for a window that cannot be counted. */
  countAttempt(counting: CountRequest): Promise<CountResult>

  /** Refunds an attempt to the windows that it was counted in. A window that has ended since is left alone. */
  refundAttempt(keyPrefix: string, counted: readonly CountedWindow[]): Promise<void>

  /** Ends windows before their time, and sets a key that says nothing more, in one step. The key shares the hash tag of the keyPrefix. */
  clearWindows(
    keyPrefix: string,
    windows: readonly WindowKey[],
    mark?: { readonly key: string; readonly ttlMs: number },
  ): Promise<void>
}

export interface CountRequest {
  /** The windows' keys begin with it. It has a hash tag, so that all of them are in one slot. */
  readonly keyPrefix: string
  readonly windows: readonly LimitWindow[]
  /** If this key exists, its windows count and not the others. It shares the hash tag of `keyPrefix`. */
  readonly override?: { readonly ifKeyExists: string; readonly windows: readonly LimitWindow[] }
  /**
   * Milliseconds since 1970. If the store's own clock shows a later time, nothing is counted: a store that was paused carries out
   * old commands when it goes on, and their callers have given up by then.
   */
  readonly notAfterMs?: number
}

export interface WindowKey {
  /** The key is the keyPrefix followed by this: windows that last about as long share one. */
  readonly keySuffix: string
  readonly name: string
  /**
   * Versions before this layout had a key for each window: the keyPrefix followed by this, a hash with `count`. Its count is added, so
   * that an upgrade gives nobody new attempts. Can go once no such key is left, 30 days after it.
   */
  readonly legacySuffix?: string
}

export interface LimitWindow extends WindowKey {
  /** A whole number, one or more. */
  readonly maxAttempts: number
  readonly ttlMs: number
}

export interface CountResult {
  /** The key of `override` exists. */
  readonly overridden: boolean
  /** Nothing was counted. Of the full windows, it is the one that ends last; `index` is its position in the list. */
  readonly full: { readonly index: number; readonly leftMs: number } | undefined
  /** It was too late, so nothing was counted. */
  readonly late?: boolean
  /** For `refundAttempt`; empty if nothing was counted. */
  readonly countedWindows: readonly CountedWindow[]
}

export interface CountedWindow {
  readonly window: WindowKey
  /** Tells this window from an earlier or later one of the same name. */
  readonly windowId: string
}

/** The keyPrefix of all windows of one user or one address; its hash tag puts them into one Redis Cluster slot. */
export const limitKeyPrefix = (hmac: string) => `gatehouse:limit:{${hmac}}`

export interface LimitConfig {
  readonly attempts: number
  readonly perSeconds: number
}

export function limitWindow(name: WindowKey, { attempts, perSeconds }: LimitConfig): LimitWindow {
  return { ...name, maxAttempts: attempts, ttlMs: perSeconds * 1000 }
}

/** One limit by itself, over all replicas. */
export interface Limiter {
  /** Takes one attempt; says whether it was still allowed. Give an HMAC if the key is a name or an address. */
  consume(
    key: string,
  ): Promise<{ readonly allowed: boolean; readonly limit: number; readonly retryAfterMs: number }>
}

export function createLimiter({
  store,
  name,
  limit,
}: {
  readonly store: Pick<AttemptCounters, 'countAttempt'>
  readonly name: string
  readonly limit: LimitConfig
}): Limiter {
  const windows = [limitWindow({ keySuffix: '', name, legacySuffix: `:${name}` }, limit)]
  return {
    async consume(key) {
      const { full } = await store.countAttempt({ keyPrefix: limitKeyPrefix(key), windows })
      return { allowed: full === undefined, limit: limit.attempts, retryAfterMs: full?.leftMs ?? 0 }
    },
  }
}
