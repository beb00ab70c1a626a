import type { RateLimit } from './pam-config.ts'

/** Where one service user stands after a request. Times are in milliseconds. */
export type RateLimitStatus = {
  allowed: boolean
  limit: number
  remaining: number
  /** When the allowance is whole again. */
  resetAt: number
  /** When a part of it comes back. */
  retryAt: number
}

export type RateLimiter = { take(subject: string): RateLimitStatus }

/**
 * A fixed allowance for each service user that comes back in equal parts, the first one part-time
 * after the first request of a full allowance (pam-api.md, "Limits").
 */
export function createRateLimiter({ rule, now }: { rule: RateLimit; now: () => number }): RateLimiter {
  const partMs = (rule.periodSeconds * 1000) / rule.parts
  const partSize = Math.ceil(rule.limit / rule.parts)
  const buckets = new Map<string, { used: number; since: number }>()

  return {
    take(subject) {
      const at = now()
      const bucket = buckets.get(subject) ?? { used: 0, since: at }
      buckets.set(subject, bucket)
      const parts = Math.floor((at - bucket.since) / partMs)
      bucket.used = Math.max(0, bucket.used - parts * partSize)
      bucket.since = bucket.used === 0 ? at : bucket.since + parts * partMs

      const allowed = bucket.used < rule.limit
      if (allowed) bucket.used += 1
      return {
        allowed,
        limit: rule.limit,
        remaining: rule.limit - bucket.used,
        resetAt: bucket.since + Math.ceil(bucket.used / partSize) * partMs,
        retryAt: bucket.since + partMs,
      }
    },
  }
}

/** The four headers that stand on every answer; Unix times in whole seconds, never too early. */
export function rateLimitHeaders(
  allowance: Omit<RateLimitStatus, 'allowed'>,
  offsetMs = 0,
): Record<string, string> {
  const unix = (ms: number) => String(Math.ceil((ms + offsetMs) / 1000))
  return {
    'X-RateLimit-Limit': String(allowance.limit),
    'X-RateLimit-Remaining': String(allowance.remaining),
    'X-RateLimit-Reset': unix(allowance.resetAt),
    'X-RateLimit-Retry-At': unix(allowance.retryAt),
  }
}
