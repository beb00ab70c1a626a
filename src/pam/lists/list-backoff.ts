import { LRUCache } from 'lru-cache'
import { PamFailure } from '../upstream/pam-errors.ts'

/** Pages that were read without success: the next read starts at the first page again. */
export interface DiscardedPages {
  readonly pages: number
  /** The shortest time between two full reads of that many pages (`refreshIntervalMs`). */
  readonly intervalMs: number
}

/** Failures in a row that cause no pause. */
const FREE_FAILURES = 5
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 5000
/** Discarded pages in a row that cause no pause. After them, the pause grows from this share of the interval to all of it. */
const FREE_PAGES = 100
const FIRST_SHARE = 1 / 8
const MAX_PAUSE_FOR_PAGES_MS = 900_000
/** A failure this long after the end of the last pause starts a new row. */
const FORGET_MS = 60_000
const MAX_LISTS = 10_000 // as maxSize: with max, an LRUCache allocates memory for all of them at once

interface FailedList {
  readonly failures: number
  readonly pages: number
  /** Failures with too many discarded pages. */
  readonly costlyFailures: number
  readonly failedAt: number
  readonly pauseMs: number
  readonly failure: PamFailure
}

export type ListBackoff = ReturnType<typeof createListBackoff>

/**
 * Pauses the reads of a list that keeps failing. Otherwise a client that polls it would use up the API's rate limit, or this
 * process's CPU time, because each read loads the pages of the interrupted one. The pause grows with each failure in a row and
 * with the number of discarded pages. Each process has its own pauses.
 */
export function createListBackoff({ monotonic }: { monotonic: () => number }) {
  const lists = new LRUCache<string, FailedList>({ maxSize: MAX_LISTS, sizeCalculation: () => 1 })

  return {
    /** Throws the last failure during the pause. */
    check(list: string): void {
      const last = lists.get(list)
      if (last === undefined) return
      const { outcome, status, retryAfterMs } = last.failure
      const sinceMs = monotonic() - last.failedAt
      if (sinceMs >= last.pauseMs) return
      throw new PamFailure(outcome, {
        reason: 'it keeps failing',
        status,
        retryAfterMs: Math.max(retryAfterMs ?? 0, last.pauseMs) - sinceMs,
      })
    },

    recordFailure(list: string, failure: PamFailure, discarded: DiscardedPages): void {
      const failedAt = monotonic()
      const last = lists.get(list)
      const before = last !== undefined && failedAt - last.failedAt < last.pauseMs + FORGET_MS ? last : NONE
      const failures = before.failures + 1
      const pages = before.pages + discarded.pages
      const costlyFailures = before.costlyFailures + (discarded.pages > 0 && pages > FREE_PAGES ? 1 : 0)
      const pauseMs = Math.max(pauseForFailures(failures, failure), pauseForPages(costlyFailures, discarded))
      lists.set(list, { failures, pages, costlyFailures, failedAt, pauseMs, failure })
    },

    recordSuccess: (list: string) => void lists.delete(list),
  }
}

const NONE = { failures: 0, pages: 0, costlyFailures: 0 }

/** Not longer than a pause that the API asks for, such as that of a rate limit. */
function pauseForFailures(failures: number, { retryAfterMs }: PamFailure): number {
  if (failures <= FREE_FAILURES) return 0
  const pauseMs = FIRST_PAUSE_MS * 2 ** Math.min(failures - FREE_FAILURES - 1, 10)
  return Math.min(pauseMs, MAX_PAUSE_MS, retryAfterMs ?? MAX_PAUSE_MS)
}

function pauseForPages(costlyFailures: number, { intervalMs }: DiscardedPages): number {
  if (costlyFailures === 0) return 0
  const share = Math.min(FIRST_SHARE * 2 ** (costlyFailures - 1), 1)
  return Math.min(share * intervalMs, MAX_PAUSE_FOR_PAGES_MS)
}
