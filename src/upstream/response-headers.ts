import type { UpstreamResponse } from './upstream-client.ts'

type Headers = Pick<UpstreamResponse, 'headers'>
type Header = string | string[] | undefined

/**
 * The API's own time, carried on by our monotonic clock: everything that it dates (token expiry, rate limits) and
 * everything that replicas compare among each other is measured on it, so that none of our clocks has to be right.
 */
export interface UpstreamClock {
  /** Milliseconds since 1970 on the API's clock; on ours as long as there was no answer. */
  now(): number
  /** Whether there was an answer. */
  isSet(): boolean
  observe(answer: Headers): void
}

/** `Date` has whole seconds, so that estimates differ by less than this; more means that a clock was set. */
const TOLERANCE_MS = 2000

export function createUpstreamClock(options: { now: () => number; monotonic: () => number }): UpstreamClock {
  const { now, monotonic } = options
  let offsetMs: number | undefined

  return {
    now: () => (offsetMs === undefined ? now() : monotonic() + offsetMs),
    isSet: () => offsetMs !== undefined,
    observe({ headers }) {
      const dateMs = typeof headers.date === 'string' ? Date.parse(headers.date) : Number.NaN
      if (Number.isNaN(dateMs)) {
        offsetMs ??= now() - monotonic() // an API without a `Date`: our own clock is used
        return
      }
      const seen = dateMs - monotonic()
      // `Date` is cut to whole seconds: of estimates that agree, the latest time is the nearest to the truth
      const agrees = offsetMs !== undefined && Math.abs(seen - offsetMs) <= TOLERANCE_MS
      offsetMs = agrees ? Math.max(seen, offsetMs ?? seen) : seen
    },
  }
}

/** What an answer says of the API's rate limit; each undefined if it does not say. Times are the API's. */
export interface RateLimitStatus {
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** When there is more of it, in milliseconds since 1970. */
  readonly untilMs: number | undefined
  /** When all of it is back, in milliseconds since 1970. */
  readonly resetMs: number | undefined
}

/** `X-Rate-Limit-Limit` and so on in the sign-in API, `X-RateLimit-…` in the PAM API. */
export type RateLimitHeaderPrefix = 'x-rate-limit' | 'x-ratelimit'

/** Reads `…-Limit`, `-Remaining`, `-Reset` and `-Retry-At` (the sooner one counts), else `Retry-After`. */
export function readRateLimit(
  { headers }: Headers,
  prefix: RateLimitHeaderPrefix,
  nowMs: number,
): RateLimitStatus {
  const resetMs = timeIn(headers[`${prefix}-reset`])
  const retryAtMs = timeIn(headers[`${prefix}-retry-at`])
  const soonestMs = Math.min(unlessPast(resetMs, nowMs), unlessPast(retryAtMs, nowMs))
  return {
    limit: numberIn(headers[`${prefix}-limit`]),
    remaining: numberIn(headers[`${prefix}-remaining`]),
    untilMs: soonestMs < Infinity ? soonestMs : retryAfterIn(headers['retry-after'], nowMs),
    resetMs,
  }
}

/** A time in the past says nothing. */
function unlessPast(timeMs: number | undefined, nowMs: number): number {
  return timeMs !== undefined && timeMs > nowMs - TOLERANCE_MS ? timeMs : Infinity
}

/** Unix times from here on are in milliseconds: as seconds, they would be after the year 5000. */
const FIRST_IN_MS = 1e11

function timeIn(header: Header): number | undefined {
  const time = numberIn(header)
  return time === undefined || time >= FIRST_IN_MS ? time : time * 1000
}

/** A number of seconds, or an HTTP date in one of its three forms (RFC 9110, sections 5.6.7 and 10.2.3). */
function retryAfterIn(header: Header, nowMs: number): number | undefined {
  const seconds = numberIn(header)
  if (seconds !== undefined) return nowMs + seconds * 1000
  if (typeof header !== 'string' || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(header)) return undefined
  const time = Date.parse(header.endsWith(' GMT') ? header : `${header} GMT`)
  return Number.isNaN(time) ? undefined : time
}

function numberIn(header: Header): number | undefined {
  return typeof header === 'string' && /^\d{1,15}(\.\d{1,9})?$/.test(header.trim())
    ? Number(header)
    : undefined
}
