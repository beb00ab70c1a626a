import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'

export interface KeyExpiryOptions {
  /** From `PAM_KEY_EXPIRES_AT`, because the API does not tell. */
  readonly expiresAtMs: number | undefined
  readonly now: () => number
  readonly log: Logger
  readonly metrics: Metrics
}

const DAY_MS = 86_400_000
const WARN_BEFORE_MS = 14 * DAY_MS

/** All tokens expire with the API key. A gauge shows when; a daily log line warns in the last two weeks. */
export function watchKeyExpiry({ expiresAtMs, now, log, metrics }: KeyExpiryOptions): { stop(): void } {
  if (expiresAtMs === undefined) return { stop() {} }
  metrics.pamKeyExpiry.set(Math.floor(expiresAtMs / 1000))

  const check = () => {
    const leftMs = expiresAtMs - now()
    if (leftMs <= 0) log.error('pam_key_expired', { upstream: 'pam' })
    else if (leftMs <= WARN_BEFORE_MS)
      log.warn('pam_key_expires_soon', {
        upstream: 'pam',
        count: Math.ceil(leftMs / DAY_MS),
        reason: 'days left',
      })
  }
  check()
  const timer = setInterval(check, DAY_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
