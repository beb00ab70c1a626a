/**
 * Counting attempts, one part of the store contract. A window begins with its first attempt and ends `ttlMs` after it;
 * later attempts do not prolong it. Several windows of one place are counted together: in all of them or, when one is
 * full, in none.
 *
 * Windows are fields of few keys, because a flood of new names leaves them all behind: a key costs Redis ten times what
 * a field does. A key lives as long as the longest window that was begun in it; an ended window counts for nothing until
 * then.
 */
export interface CountingStore {
  /** Counts one attempt, in one round trip. Throws a TypeError for figures that cannot be counted by. */
  count(counting: Counting): Promise<Counted>

  /** Takes an attempt back from the windows that it was counted in; one that has ended since is left alone. */
  uncount(place: string, counted: readonly CountedIn[]): Promise<void>

  /** Ends windows before their time, and leaves the mark where one is given, in one step. */
  endCounts(place: string, windows: readonly WindowName[], mark?: Mark): Promise<void>
}

export interface Counting {
  /** What the windows' keys begin with. It has a hash tag, so all of them lie in one slot. */
  readonly place: string
  readonly windows: readonly CountingWindow[]
  /** Where this key is there, its windows count and not the others. It shares the hash tag of `place`. */
  readonly instead?: { readonly ifThere: string; readonly windows: readonly CountingWindow[] }
  /**
   * Milliseconds since 1970. When the store's own clock shows a later time, nothing is counted: a store that stood still
   * carries out old commands when it goes on, and whoever sent them has given up by then.
   */
  readonly notAfterMs?: number
}

export interface WindowName {
  /** The key is the place followed by this: windows that last about as long share one. */
  readonly keySuffix: string
  readonly name: string
  /**
   * Versions before this layout had a key for each window: the place followed by this, a hash with `count`. What it
   * holds counts too, so that an upgrade gives nobody new attempts. Can go once no such key is left, 30 days after it.
   */
  readonly formerSuffix?: string
}

export interface CountingWindow extends WindowName {
  /** A whole number, one or more. */
  readonly most: number
  readonly ttlMs: number
}

export interface Counted {
  /** The key of `instead` was there. */
  readonly instead: boolean
  /** Nothing was counted: of the windows that were full, the one that ends last. It stands at `index` in its list. */
  readonly full: { readonly index: number; readonly leftMs: number } | undefined
  /** It was too late, so nothing was counted. */
  readonly late?: boolean
  /** For `uncount`; empty when nothing was counted. */
  readonly countedIn: readonly CountedIn[]
}

/** A key that is there for a while and says nothing more. It shares the hash tag of the place. */
export interface Mark {
  readonly key: string
  readonly ttlMs: number
}

export interface CountedIn {
  readonly window: WindowName
  /** Tells this window from an earlier or later one of the same name. */
  readonly begunBy: string
}
