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

/** Reads `…-Limit`, `-Remaining`, `-Reset` (unix seconds), `-Retry-At` (the same, sooner) and `Retry-After`. */
export function readAllowance(
  { headers }: Pick<UpstreamAnswer, 'headers'>,
  prefix: RateLimitPrefix,
  nowMs: number,
): Allowance {
  const retryAfterS = numberIn(headers['retry-after'])
  const resetMs = secondsIn(headers[`${prefix}-reset`])
  return {
    limit: numberIn(headers[`${prefix}-limit`]),
    remaining: numberIn(headers[`${prefix}-remaining`]),
    untilMs:
      secondsIn(headers[`${prefix}-retry-at`]) ??
      resetMs ??
      (retryAfterS === undefined ? undefined : nowMs + retryAfterS * 1000),
    resetMs,
  }
}

function secondsIn(header: string | string[] | undefined): number | undefined {
  const seconds = numberIn(header)
  return seconds === undefined ? undefined : seconds * 1000
}

function numberIn(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header.trim()) ? Number(header) : undefined
}
