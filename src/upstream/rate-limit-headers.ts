import { CLOCK_TOLERANCE_MS, type UpstreamResponse } from './upstream-client.ts'

/** The rate limit in a response; a missing value is undefined. Times are in milliseconds since 1970, on the API's clock. */
export interface RateLimitStatus {
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** When the next request is allowed: the earlier of `…-Reset` and `…-Retry-At`, else `Retry-After`. */
  readonly untilMs: number | undefined
  /** When the whole limit is available again. */
  readonly resetMs: number | undefined
}

/** The Authentication API sends `X-Rate-Limit-…`, the PAM API `X-RateLimit-…`. */
export type RateLimitHeaderPrefix = 'x-rate-limit' | 'x-ratelimit'

type Header = UpstreamResponse['headers'][string]

export function readRateLimit(
  { headers }: Pick<UpstreamResponse, 'headers'>,
  prefix: RateLimitHeaderPrefix,
  nowMs: number,
): RateLimitStatus {
  const resetMs = parseTime(headers[`${prefix}-reset`])
  const retryAtMs = parseTime(headers[`${prefix}-retry-at`])
  // a time in the past is ignored
  const times = [resetMs ?? 0, retryAtMs ?? 0].filter((time) => time > nowMs - CLOCK_TOLERANCE_MS)
  return {
    limit: parseNumber(headers[`${prefix}-limit`]),
    remaining: parseNumber(headers[`${prefix}-remaining`]),
    untilMs: times.length > 0 ? Math.min(...times) : parseRetryAfter(headers['retry-after'], nowMs),
    resetMs,
  }
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
  return /^\s*\d{1,15}(\.\d{1,9})?\s*$/.test(String(header)) ? Number(header) : undefined
}
