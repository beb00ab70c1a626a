import { z } from 'zod'
import type { Allowance } from '../../upstream/answer-headers.ts'

/** What the answers to one read said about the API's rate limit. */
export const RateSeen = z.object({
  limit: z.number(),
  /** The highest use, by all who share the limit. */
  used: z.number(),
  /** The longest time until the reset. */
  resetInMs: z.number(),
})
export type RateSeen = Readonly<z.output<typeof RateSeen>>

/** A full read may use this share of the rate limit. */
const SHARE = 0.1
/** The period's length is stated nowhere. An hour is what older documents name (10,000 calls an hour). */
const ASSUMED_PERIOD_MS = 3_600_000
const ASSUMED_LIMIT = 10_000

/** With what one more answer tells. A limit that changed counts alone. */
export function addRateSeen(
  before: RateSeen | undefined,
  { limit, remaining, resetMs }: Allowance,
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

/** How long to wait between two full reads of a list with so many pages, in milliseconds. */
export function refreshIntervalMs(pages: number, seen: RateSeen | undefined): number {
  return (pages / (SHARE * (seen?.limit ?? ASSUMED_LIMIT))) * periodMs(seen)
}

/**
 * The time in which the whole limit comes back. It is not shorter than the time until the reset, and not longer than
 * if only what was used comes back in that time; in between, the assumed period is taken.
 */
function periodMs(seen: RateSeen | undefined): number {
  if (seen === undefined) return ASSUMED_PERIOD_MS
  const { limit, used, resetInMs } = seen
  return Math.min((resetInMs * limit) / used, Math.max(resetInMs, ASSUMED_PERIOD_MS))
}
