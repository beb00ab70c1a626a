import type { UpstreamResponse } from './upstream-client.ts'

type Headers = Pick<UpstreamResponse, 'headers'>
type Header = string | string[] | undefined

/**
 * The API's clock, advanced by the monotonic clock of this process. The API's times (token expiry, rate limits) and times that
 * replicas compare are read on it, so no system clock of the broker has to be right.
 */
export interface UpstreamClock {
  /** Milliseconds since 1970; the system clock until the first response. */
  now(): number
  /** Whether there has been a response. */
  isSet(): boolean
  observe(response: Headers): void
}

/** `Date` has whole seconds, so estimates differ by less than this. A larger difference means that a clock was set. */
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
        offsetMs ??= now() - monotonic() // without `Date`, the system clock is used
        return
      }
      const seen = dateMs - monotonic()
      // `Date` is rounded down to seconds, so the latest of the estimates that agree is the most accurate
      const agrees = offsetMs !== undefined && Math.abs(seen - offsetMs) <= TOLERANCE_MS
      offsetMs = agrees ? Math.max(seen, offsetMs ?? seen) : seen
    },
  }
}

/** The rate limit in a response; a missing value is undefined. Times are in milliseconds since 1970, on the API's clock. */
export interface RateLimitStatus {
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** When the next request is allowed. */
  readonly untilMs: number | undefined
  /** When the whole limit is available again. */
  readonly resetMs: number | undefined
}

/** The Authentication API sends `X-Rate-Limit-…`, the PAM API `X-RateLimit-…`. */
export type RateLimitHeaderPrefix = 'x-rate-limit' | 'x-ratelimit'

/** `untilMs` is the earlier of `…-Reset` and `…-Retry-At`, else `Retry-After`. */
export function readRateLimit(
  { headers }: Headers,
  prefix: RateLimitHeaderPrefix,
  nowMs: number,
): RateLimitStatus {
  const resetMs = parseTime(headers[`${prefix}-reset`])
  const retryAtMs = parseTime(headers[`${prefix}-retry-at`])
  const earliestMs = Math.min(futureOnly(resetMs, nowMs), futureOnly(retryAtMs, nowMs))
  return {
    limit: parseNumber(headers[`${prefix}-limit`]),
    remaining: parseNumber(headers[`${prefix}-remaining`]),
    untilMs: earliestMs < Infinity ? earliestMs : parseRetryAfter(headers['retry-after'], nowMs),
    resetMs,
  }
}

/** A time in the past is ignored. */
function futureOnly(timeMs: number | undefined, nowMs: number): number {
  return timeMs !== undefined && timeMs > nowMs - TOLERANCE_MS ? timeMs : Infinity
}

/** Unix times from here on are in milliseconds: in seconds, they would be after the year 5000. */
const MIN_MILLISECONDS = 1e11

function parseTime(header: Header): number | undefined {
  const time = parseNumber(header)
  return time === undefined || time >= MIN_MILLISECONDS ? time : time * 1000
}

/** A number of seconds, or an HTTP date in one of its three forms (RFC 9110, sections 5.6.7 and 10.2.3). */
function parseRetryAfter(header: Header, nowMs: number): number | undefined {
  const seconds = parseNumber(header)
  if (seconds !== undefined) return nowMs + seconds * 1000
  if (typeof header !== 'string' || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(header)) return undefined
  const time = Date.parse(header.endsWith(' GMT') ? header : `${header} GMT`)
  return Number.isNaN(time) ? undefined : time
}

function parseNumber(header: Header): number | undefined {
  return typeof header === 'string' && /^\d{1,15}(\.\d{1,9})?$/.test(header.trim())
    ? Number(header)
    : undefined
}
