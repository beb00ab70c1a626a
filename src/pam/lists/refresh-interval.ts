import { z } from 'zod'
import type { RateLimitStatus } from '../../upstream/rate-limit-record.ts'

/** The API's rate limit, as observed in the responses of one read. */
export const ObservedRateLimit = z.object({
  limit: z.number(),
  /** The most requests used, by all clients that share the limit. */
  used: z.number(),
  /** The longest time until the reset that was seen. */
  resetInMs: z.number(),
})
export type ObservedRateLimit = Readonly<z.output<typeof ObservedRateLimit>>

/** The share of the rate limit that full reads may use. */
const MAX_SHARE = 0.1
/** The API does not tell its period. Older documents name 10,000 calls an hour. */
const ASSUMED_PERIOD_MS = 3_600_000
const ASSUMED_LIMIT = 10_000

/** Adds the headers of one response. If the limit has changed, earlier observations are dropped. */
export function observeRateLimit(
  before: ObservedRateLimit | undefined,
  { limit, remaining, resetMs }: RateLimitStatus,
  nowMs: number,
): ObservedRateLimit | undefined {
  if (limit === undefined || limit === 0 || remaining === undefined || resetMs === undefined) return before
  const same = before?.limit === limit ? before : { used: 1, resetInMs: 0 }
  return {
    limit,
    used: Math.max(same.used, limit - remaining),
    resetInMs: Math.max(same.resetInMs, resetMs - nowMs),
  }
}

/** The time between two full reads of a list with that many pages, in milliseconds. */
export function refreshIntervalMs(pages: number, seen: ObservedRateLimit | undefined): number {
  return (pages / (MAX_SHARE * (seen?.limit ?? ASSUMED_LIMIT))) * estimatePeriodMs(seen)
}

/**
 * Estimates the time in which the whole limit is restored. The reset may restore all calls, or only those that were used. So the
 * period is at least the time until the reset, and at most that time scaled up to the whole limit. In between, it is the assumed
 * period.
 */
function estimatePeriodMs(seen: ObservedRateLimit | undefined): number {
  if (seen === undefined) return ASSUMED_PERIOD_MS
  const { limit, used, resetInMs } = seen
  return Math.min((resetInMs * limit) / used, Math.max(resetInMs, ASSUMED_PERIOD_MS))
}
