/**
 * Counting attempts, one part of the store contract. A window begins with its first attempt and ends `ttlMs` later; further attempts
 * do not prolong it. Several windows of one place are counted together: in all of them, or in none if one is full.
 *
 * Windows are fields of few keys, because a flood of new names leaves them all behind: a key costs Redis ten times what a field
 * does. A key lives as long as the longest window that was begun in it; an ended window counts for nothing until then.
 */
export interface CountingStore {
  /** Counts one attempt, in one round trip. Throws a TypeError for a window that cannot be counted. */
  count(counting: Counting): Promise<Counted>

  /** Refunds an attempt to the windows that it was counted in. A window that has ended since is left alone. */
  uncount(place: string, counted: readonly CountedIn[]): Promise<void>

  /** Ends windows before their time, and sets a key that says nothing more, in one step. The key shares the hash tag of the place. */
  endCounts(
    place: string,
    windows: readonly WindowName[],
    mark?: { readonly key: string; readonly ttlMs: number },
  ): Promise<void>
}

export interface Counting {
  /** The windows' keys begin with it. It has a hash tag, so that all of them are in one slot. */
  readonly place: string
  readonly windows: readonly CountingWindow[]
  /** If this key exists, its windows count and not the others. It shares the hash tag of `place`. */
  readonly instead?: { readonly ifThere: string; readonly windows: readonly CountingWindow[] }
  /**
   * Milliseconds since 1970. If the store's own clock shows a later time, nothing is counted: a store that was paused carries out
   * old commands when it goes on, and their callers have given up by then.
   */
  readonly notAfterMs?: number
}

export interface WindowName {
  /** The key is the place followed by this: windows that last about as long share one. */
  readonly keySuffix: string
  readonly name: string
  /**
   * Versions before this layout had a key for each window: the place followed by this, a hash with `count`. Its count is added, so
   * that an upgrade gives nobody new attempts. Can go once no such key is left, 30 days after it.
   */
  readonly formerSuffix?: string
}

export interface CountingWindow extends WindowName {
  /** A whole number, one or more. */
  readonly most: number
  readonly ttlMs: number
}

export interface Counted {
  /** The key of `instead` exists. */
  readonly instead: boolean
  /** Nothing was counted. Of the full windows, it is the one that ends last; `index` is its position in the list. */
  readonly full: { readonly index: number; readonly leftMs: number } | undefined
  /** It was too late, so nothing was counted. */
  readonly late?: boolean
  /** For `uncount`; empty if nothing was counted. */
  readonly countedIn: readonly CountedIn[]
}

export interface CountedIn {
  readonly window: WindowName
  /** Tells this window from an earlier or later one of the same name. */
  readonly begunBy: string
}

/** The place of all windows of one user or one address; its hash tag puts them into one Redis Cluster slot. */
export const limitPlace = (hmac: string) => `gatehouse:limit:{${hmac}}`

export interface LimitFigures {
  readonly attempts: number
  readonly perSeconds: number
}

export function countingWindow(name: WindowName, { attempts, perSeconds }: LimitFigures): CountingWindow {
  return { ...name, most: attempts, ttlMs: perSeconds * 1000 }
}

/** One limit by itself, over all replicas. */
export interface Limiter {
  /** Takes one attempt; says whether it was still allowed. Give an HMAC if the key is a name or an address. */
  take(
    key: string,
  ): Promise<{ readonly allowed: boolean; readonly limit: number; readonly retryAfterMs: number }>
}

export function createLimiter({
  store,
  name,
  figures,
}: {
  readonly store: Pick<CountingStore, 'count'>
  readonly name: string
  readonly figures: LimitFigures
}): Limiter {
  const windows = [countingWindow({ keySuffix: '', name, formerSuffix: `:${name}` }, figures)]
  return {
    async take(key) {
      const { full } = await store.count({ place: limitPlace(key), windows })
      return { allowed: full === undefined, limit: figures.attempts, retryAfterMs: full?.leftMs ?? 0 }
    },
  }
}
