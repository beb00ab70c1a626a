import { z } from 'zod'
import type { RateLimitStatus } from '../../upstream/response-headers.ts'

/** What the answers to one read said about the API's rate limit. */
export const RateSeen = z.object({
  limit: z.number(),
  /** The highest use, by all who share the limit. */
  used: z.number(),
  /** The longest time until the reset. */
  resetInMs: z.number(),
})
export type RateSeen = Readonly<z.output<typeof RateSeen>>

/** The share of the rate limit that full reads may use. */
const SHARE = 0.1
/** The API does not state its period. Older documents name 10,000 calls an hour. */
const ASSUMED_PERIOD_MS = 3_600_000
const ASSUMED_LIMIT = 10_000

/** Adds one more answer. If the limit has changed, only the new one counts. */
export function addRateSeen(
  before: RateSeen | undefined,
  { limit, remaining, resetMs }: RateLimitStatus,
  nowMs: number,
): RateSeen | undefined {
  if (limit === undefined || limit === 0 || remaining === undefined || resetMs === undefined) return before
  const same = before?.limit === limit ? before : { used: 1, resetInMs: 0 }
  return {
    limit,
    used: Math.max(same.used, limit - remaining),
    resetInMs: Math.max(same.resetInMs, resetMs - nowMs),
  }
}

/** The time between two full reads of a list with that many pages, in milliseconds. */
export function refreshIntervalMs(pages: number, seen: RateSeen | undefined): number {
  return (pages / (SHARE * (seen?.limit ?? ASSUMED_LIMIT))) * periodMs(seen)
}

/**
 * The time in which the whole limit is restored. It is at least the time until the reset, and at most as long as if only the used
 * calls were restored in that time. In between, it is the assumed period.
 */
function periodMs(seen: RateSeen | undefined): number {
  if (seen === undefined) return ASSUMED_PERIOD_MS
  const { limit, used, resetInMs } = seen
  return Math.min((resetInMs * limit) / used, Math.max(resetInMs, ASSUMED_PERIOD_MS))
}
