import type { UpstreamResponse } from './http-api.ts'

/**
 * `Date` has whole seconds, so estimates differ by less than this. A larger difference means that a
 * clock was set.
 */
export const CLOCK_TOLERANCE_MS = 2000

/**
 * The API's clock, advanced by the monotonic clock of this process. The API's times (token expiry,
 * rate limits) and times that replicas compare are read on it, so no system clock of the broker has
 * to be right.
 */
export function createUpstreamClock({ now, monotonic }: { now: () => number; monotonic: () => number }) {
  let offsetMs: number | undefined

  return {
    /** Milliseconds since 1970; the system clock until the first response. */
    now: () => (offsetMs === undefined ? now() : monotonic() + offsetMs),
    /** Whether there has been a response. */
    isSet: () => offsetMs !== undefined,
    observe({ headers }: Pick<UpstreamResponse, 'headers'>) {
      const dateMs = typeof headers.date === 'string' ? Date.parse(headers.date) : Number.NaN
      if (Number.isNaN(dateMs)) {
        offsetMs ??= now() - monotonic() // without `Date`, the system clock is used
        return
      }
      const seen = dateMs - monotonic()
      // `Date` is rounded down to seconds, so the latest of the estimates that agree is the most
      // accurate
      const agrees = offsetMs !== undefined && Math.abs(seen - offsetMs) <= CLOCK_TOLERANCE_MS
      offsetMs = agrees ? Math.max(seen, offsetMs ?? seen) : seen
    },
  }
}
