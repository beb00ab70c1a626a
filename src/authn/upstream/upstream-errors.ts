import {
  type BrokerError,
  rateLimited,
  upstreamTemporarilyUnavailable,
  upstreamTimeout,
  upstreamUnavailable,
} from '../../errors.ts'
import type { RateLimitRefusal } from '../../upstream/rate-limit-gate.ts'
import type { UpstreamFailure } from '../../upstream/upstream-failure.ts'

export function toRateLimitedError({ waitMs, limit = 0 }: RateLimitRefusal, nowMs: number): BrokerError {
  const resetAtSeconds = Math.ceil((nowMs + waitMs) / 1000)
  return rateLimited({ limit, resetAtSeconds, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}

export function toBrokerError(failure: UpstreamFailure): BrokerError {
  const { outcome, retryAfterMs } = failure
  if (outcome === 'timeout') return upstreamTimeout(failure)
  if (retryAfterMs !== undefined)
    return upstreamTemporarilyUnavailable(Math.ceil(retryAfterMs / 1000), failure)
  return upstreamUnavailable(failure)
}
