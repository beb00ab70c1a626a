import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'

export interface KeyExpiryOptions {
  /** `PAM_KEY_EXPIRES_AT` */
  readonly expiresAtMs: number | undefined
  readonly now: () => number
  readonly log: Logger
  readonly metrics: Metrics
}

const DAY_MS = 86_400_000
const WARN_BEFORE_MS = 14 * DAY_MS

/** All tokens end with the API key. A gauge shows when; a daily log line warns in the last two weeks. */
export function watchKeyExpiry({ expiresAtMs, now, log, metrics }: KeyExpiryOptions): { stop(): void } {
  if (expiresAtMs === undefined) return { stop() {} }
  metrics.pamKeyExpiry.set(Math.floor(expiresAtMs / 1000))
  const report = () => {
    const leftMs = expiresAtMs - now()
    if (leftMs <= 0) log.error('pam_key_expired', { upstream: 'pam' })
    else if (leftMs <= WARN_BEFORE_MS)
      log.warn('pam_key_expires_soon', {
        upstream: 'pam',
        count: Math.ceil(leftMs / DAY_MS),
        reason: 'days left',
      })
  }
  report()
  const timer = setInterval(report, DAY_MS).unref()
  return { stop: () => clearInterval(timer) }
}
