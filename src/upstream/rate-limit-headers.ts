import type { UpstreamAnswer } from './upstream-client.ts'

/** What an answer says of the API's allowance; each undefined when it does not say. Times are the API's. */
export interface Allowance {
  readonly limit: number | undefined
  readonly remaining: number | undefined
  /** When there is more of it, in milliseconds since 1970. */
  readonly untilMs: number | undefined
  /** When all of it is back, in milliseconds since 1970. */
  readonly resetMs: number | undefined
}

/** `X-Rate-Limit-Limit` and so on in the sign-in API, `X-RateLimit-…` in the PAM API. */
export type RateLimitPrefix = 'x-rate-limit' | 'x-ratelimit'

/** Reads `…-Limit`, `-Remaining`, `-Reset` and `-Retry-At` (the sooner one counts), else `Retry-After`. */
export function readAllowance(
  { headers }: Pick<UpstreamAnswer, 'headers'>,
  prefix: RateLimitPrefix,
  nowMs: number,
): Allowance {
  const resetMs = timeIn(headers[`${prefix}-reset`])
  const times = [timeIn(headers[`${prefix}-retry-at`]), resetMs].filter(
    (time) => time > nowMs - RESOLUTION_MS,
  )
  return {
    limit: numberIn(headers[`${prefix}-limit`]),
    remaining: numberIn(headers[`${prefix}-remaining`]),
    untilMs: times.length > 0 ? Math.min(...times) : retryAfterIn(headers['retry-after'], nowMs),
    resetMs: Number.isNaN(resetMs) ? undefined : resetMs,
  }
}

/** A time further in the past says nothing: it was cut to whole seconds, and so was the `Date` that it is compared with. */
const RESOLUTION_MS = 2000
/** Unix times from here on are in milliseconds: as seconds, they would be after the year 5000. */
const FIRST_IN_MS = 1e11

/** NaN: there is none. */
function timeIn(header: Header): number {
  const time = numberIn(header) ?? Number.NaN
  return time >= FIRST_IN_MS ? time : time * 1000
}

/** A number of seconds, or an HTTP date in one of its three forms (RFC 9110, sections 5.6.7 and 10.2.3). */
function retryAfterIn(header: Header, nowMs: number): number | undefined {
  const seconds = numberIn(header)
  if (seconds !== undefined) return nowMs + seconds * 1000
  if (typeof header !== 'string' || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(header)) return undefined
  const time = Date.parse(header.endsWith(' GMT') ? header : `${header} GMT`)
  return Number.isNaN(time) ? undefined : time
}

type Header = string | string[] | undefined

function numberIn(header: Header): number | undefined {
  return typeof header === 'string' && /^\d{1,15}(\.\d{1,9})?$/.test(header.trim())
    ? Number(header)
    : undefined
}
