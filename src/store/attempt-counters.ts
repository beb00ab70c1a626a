import { v4 as uuid } from 'uuid'

/**
 * The counters of the throttling limits, one part of the store contract. A window begins with its
 * first attempt and ends `ttlMs` later; further attempts do not prolong it. The windows of one
 * request are counted together: in all of them, or in none if one is full.
 *
 * Windows are fields of a few hashes, because an attacker can create windows by the million with
 * made-up names, and a key costs Redis ten times as much memory as a field. A hash lives as long as
 * its longest window. An ended window is ignored until then.
 */
export interface AttemptCounters {
  /** Counts one attempt, in one round trip. */
  countAttempt(request: CountRequest): Promise<CountResult>

  /**
   * Refunds an attempt to the windows in which it was counted. Windows that have ended are not
   * changed.
   */
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
  /**
   * If the key exists, these windows replace `windows`. The key shares the hash tag of the prefix.
   */
  readonly override?: { readonly ifKeyExists: string; readonly windows: readonly LimitWindow[] }
  /**
   * Unless the key exists, those of `windows` that are longer than `toTtlMs` are as short as that,
   * and fields of the hash of the prefix itself (`shortened`). The key shares the hash tag of the
   * prefix.
   */
  readonly shorten?: Shorten
  /**
   * Milliseconds since 1970. If the store's clock is later, nothing is counted: a store that was
   * paused executes old commands when it resumes, after their callers have given up.
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
  /**
   * If a window is full, nothing was counted. Of several full windows, the one that ends last;
   * `index` is its position.
   */
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

/**
 * From this number of windows in a key on, ended ones are removed when a window begins: with n
 * windows, in one of n / 32 cases, so that the average cost stays the same. A user with two devices
 * has fewer.
 */
export const CLEANUP_THRESHOLD = 32

/** 32 random bits; short, because it is stored with each window. */
export function newWindowId(): string {
  return uuid().slice(0, 8)
}
