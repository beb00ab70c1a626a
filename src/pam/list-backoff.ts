import { LRUCache } from 'lru-cache'
import { PamFailure } from './pam-errors.ts'

/**
 * A list that keeps failing is not asked for with each request: one client that polls it would use up the API's rate
 * limit, or this process's time, which goes into taking up the pages of an interrupted read. The pause grows with each
 * failure in a row; meanwhile, the last failure is the answer. Each process has its own.
 */
export interface ListBackoff {
  /** Throws the last failure during the pause. */
  check(list: string): void
  failed(list: string, failure: PamFailure): void
  succeeded(list: string): void
}

/** So many failures in a row have no pause. */
const FREE_FAILURES = 5
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 5000
/** A failure that is older is not in a row with the next one. */
const FORGET_MS = 60_000
const MAX_LISTS = 10_000

interface Failed {
  readonly inARow: number
  readonly at: number
  readonly pauseMs: number
  readonly failure: PamFailure
}

export function createListBackoff({ monotonic }: { monotonic: () => number }): ListBackoff {
  const lists = new LRUCache<string, Failed>({ max: MAX_LISTS })

  return {
    check(list) {
      const last = lists.get(list)
      if (last === undefined) return
      const { trouble, status, retryAfterMs } = last.failure
      const sinceMs = monotonic() - last.at
      if (sinceMs >= last.pauseMs) return
      throw new PamFailure(trouble, {
        reason: 'it keeps failing',
        ...(status === undefined ? {} : { status }),
        retryAfterMs: Math.max(retryAfterMs ?? 0, last.pauseMs) - sinceMs,
      })
    },

    failed(list, failure) {
      const at = monotonic()
      const before = lists.get(list)
      const inARow = before !== undefined && at - before.at < FORGET_MS ? before.inARow + 1 : 1
      lists.set(list, { inARow, at, pauseMs: pauseAfter(inARow, failure), failure })
    },

    succeeded: (list) => void lists.delete(list),
  }
}

/** Never longer than the API's own pause, such as that of a rate limit. */
function pauseAfter(inARow: number, { retryAfterMs }: PamFailure): number {
  if (inARow <= FREE_FAILURES) return 0
  const pauseMs = FIRST_PAUSE_MS * 2 ** Math.min(inARow - FREE_FAILURES - 1, 10)
  return Math.min(pauseMs, MAX_PAUSE_MS, retryAfterMs ?? MAX_PAUSE_MS)
}
