import { LRUCache } from 'lru-cache'
import { PamFailure } from '../upstream/pam-errors.ts'

/**
 * A list that keeps failing is not read with each request: one client that polls it would use up the API's rate limit, or this
 * process's time, because each read loads the pages of the interrupted one. The pause grows with each failure in a row, and with
 * the number of pages that were read in vain; during it, requests get the last failure. Each process has its own pauses.
 */
export interface ListBackoff {
  /** Throws the last failure during the pause. */
  check(list: string): void
  failed(list: string, failure: PamFailure, lost: LostPages): void
  succeeded(list: string): void
}

/** Pages that were read in vain: the next read begins at the first page again. */
export interface LostPages {
  readonly pages: number
  /** How often a list with that many pages may be read (`refreshIntervalMs`). */
  readonly intervalMs: number
}

/** This many failures in a row cause no pause. */
const FREE_FAILURES = 5
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 5000
/** This many pages that were lost in a row cause no pause. Then it grows from this share of the interval to the whole. */
const FREE_PAGES = 100
const FIRST_SHARE = 1 / 8
const MAX_PAUSE_FOR_PAGES_MS = 900_000
/** If the pause ended longer ago, the next failure starts a new row. */
const FORGET_MS = 60_000
const MAX_LISTS = 10_000 // as maxSize: with max, an LRUCache allocates memory for all of them at once

interface Failed {
  readonly inARow: number
  /** Pages that were read in vain, in a row. */
  readonly pages: number
  /** How many failures cost too many pages. */
  readonly costly: number
  readonly at: number
  readonly pauseMs: number
  readonly failure: PamFailure
}

export function createListBackoff({ monotonic }: { monotonic: () => number }): ListBackoff {
  const lists = new LRUCache<string, Failed>({ maxSize: MAX_LISTS, sizeCalculation: () => 1 })

  return {
    check(list) {
      const last = lists.get(list)
      if (last === undefined) return
      const { outcome, status, retryAfterMs } = last.failure
      const sinceMs = monotonic() - last.at
      if (sinceMs >= last.pauseMs) return
      throw new PamFailure(outcome, {
        reason: 'it keeps failing',
        status,
        retryAfterMs: Math.max(retryAfterMs ?? 0, last.pauseMs) - sinceMs,
      })
    },

    failed(list, failure, lost) {
      const at = monotonic()
      const last = lists.get(list)
      const before = last !== undefined && at - last.at < last.pauseMs + FORGET_MS ? last : NONE
      const inARow = before.inARow + 1
      const pages = before.pages + lost.pages
      const costly = before.costly + (lost.pages > 0 && pages > FREE_PAGES ? 1 : 0)
      const pauseMs = Math.max(pauseAfter(inARow, failure), pauseForPages(costly, lost))
      lists.set(list, { inARow, pages, costly, at, pauseMs, failure })
    },

    succeeded: (list) => void lists.delete(list),
  }
}

const NONE = { inARow: 0, pages: 0, costly: 0 }

/** Not longer than the pause that the API names, such as that of a rate limit. */
function pauseAfter(inARow: number, { retryAfterMs }: PamFailure): number {
  if (inARow <= FREE_FAILURES) return 0
  const pauseMs = FIRST_PAUSE_MS * 2 ** Math.min(inARow - FREE_FAILURES - 1, 10)
  return Math.min(pauseMs, MAX_PAUSE_MS, retryAfterMs ?? MAX_PAUSE_MS)
}

function pauseForPages(costly: number, { intervalMs }: LostPages): number {
  if (costly === 0) return 0
  const share = Math.min(FIRST_SHARE * 2 ** (costly - 1), 1)
  return Math.min(share * intervalMs, MAX_PAUSE_FOR_PAGES_MS)
}
