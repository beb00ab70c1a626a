/**
 * The counters of the throttling limits, one part of the store contract. A window begins with its first attempt and ends `ttlMs`
 * later; further attempts do not prolong it. The windows of one request are counted together: in all of them, or in none if one is
 * full.
 *
 * Windows are fields of a few hashes, because an attacker can create windows by the million with made-up names, and a key costs
 * Redis ten times as much memory as a field. A hash lives as long as its longest window. An ended window is ignored until then.
 */
export interface AttemptCounters {
  /** Counts one attempt, in one round trip. Throws a TypeError for an invalid window. */
  countAttempt(request: CountRequest): Promise<CountResult>

  /** Refunds an attempt to the windows in which it was counted. Windows that have ended are not changed. */
  refundAttempt(keyPrefix: string, counted: readonly CountedWindow[]): Promise<void>

  /** Ends windows early and sets the marker key, in one step. The marker shares the hash tag of the prefix. */
  clearWindows(
    keyPrefix: string,
    windows: readonly WindowKey[],
    marker?: { readonly key: string; readonly ttlMs: number },
  ): Promise<void>
}

export interface CountRequest {
  /** Its hash tag puts all windows into one Redis Cluster slot. */
  readonly keyPrefix: string
  readonly windows: readonly LimitWindow[]
  /** If the key exists, these windows replace `windows`. The key shares the hash tag of the prefix. */
  readonly override?: { readonly ifKeyExists: string; readonly windows: readonly LimitWindow[] }
  /**
   * Milliseconds since 1970. If the store's clock is later, nothing is counted: a store that was paused executes old commands
   * when it resumes, after their callers have given up.
   */
  readonly notAfterMs?: number
}

export interface WindowKey {
  /** Appended to the prefix. Windows of about the same length share a key. */
  readonly keySuffix: string
  readonly name: string
  /**
   * Older versions had one key for each window: a hash with the field `count`. That count is added, so that an upgrade gives
   * nobody new attempts. Remove this 30 days after no such key is left.
   */
  readonly legacySuffix?: string
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

/** The key prefix of all windows of one user or one address. */
export const limitKeyPrefix = (hmac: string) => `gatehouse:limit:{${hmac}}`

export interface LimitConfig {
  readonly attempts: number
  readonly perSeconds: number
}

export function limitWindow(key: WindowKey, { attempts, perSeconds }: LimitConfig): LimitWindow {
  return { ...key, maxAttempts: attempts, ttlMs: perSeconds * 1000 }
}
