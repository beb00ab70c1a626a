import type { RateLimit } from './pam-config.ts'

/** A service user's rate limit after a request. Times are in milliseconds. */
export type RateLimitStatus = {
  allowed: boolean
  limit: number
  remaining: number
  /** When the full limit is available again. */
  resetAt: number
  /** When the next part is available. */
  retryAt: number
}

export type RateLimiter = { consume(subject: string): RateLimitStatus }

/**
 * A limit per service user, replenished in equal parts. The first interval starts with the first
 * request after the limit was full (docs/conformance.md P-14).
 */
export function createRateLimiter({
  rateLimit,
  now,
}: {
  rateLimit: RateLimit
  now: () => number
}): RateLimiter {
  const partMs = (rateLimit.periodSeconds * 1000) / rateLimit.parts
  const partSize = Math.ceil(rateLimit.limit / rateLimit.parts)
  const buckets = new Map<string, { used: number; since: number }>()

  return {
    consume(subject) {
      const nowMs = now()
      const bucket = buckets.get(subject) ?? { used: 0, since: nowMs }
      buckets.set(subject, bucket)
      const parts = Math.floor((nowMs - bucket.since) / partMs)
      bucket.used = Math.max(0, bucket.used - parts * partSize)
      bucket.since = bucket.used === 0 ? nowMs : bucket.since + parts * partMs

      const allowed = bucket.used < rateLimit.limit
      if (allowed) bucket.used += 1
      return {
        allowed,
        limit: rateLimit.limit,
        remaining: rateLimit.limit - bucket.used,
        resetAt: bucket.since + Math.ceil(bucket.used / partSize) * partMs,
        retryAt: bucket.since + partMs,
      }
    },
  }
}

/** The four headers of every response. Unix times in whole seconds, rounded up. */
export function rateLimitHeaders(status: Omit<RateLimitStatus, 'allowed'>): Record<string, string> {
  const unix = (ms: number) => String(Math.ceil(ms / 1000))
  return {
    'X-RateLimit-Limit': String(status.limit),
    'X-RateLimit-Remaining': String(status.remaining),
    'X-RateLimit-Reset': unix(status.resetAt),
    'X-RateLimit-Retry-At': unix(status.retryAt),
  }
}
