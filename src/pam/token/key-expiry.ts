import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { PamFailure } from '../upstream/pam-errors.ts'

export interface KeyExpiryOptions {
  /** `PAM_KEY_EXPIRES_AT`, which is used until PAM has told the expiry. */
  readonly configuredMs: number | undefined
  /** The id of the current key. */
  readonly keyId: () => string | undefined
  /** Reads the key from PAM. undefined: there is no token yet. */
  readonly read: (keyId: string) => Promise<KeyTimes> | undefined
  readonly checkMs: number
  readonly now: () => number
  readonly monotonic: () => number
  readonly log: Logger
  readonly metrics: Metrics
}

interface KeyTimes {
  /** undefined: it does not expire. */
  readonly expiresAtMs: number | undefined
  readonly lastUsedMs: number | undefined
}

const HOUR_MS = 3_600_000
const RETRY_MS = 600_000
const DAY_MS = 86_400_000
const WARN_BEFORE_MS = 14 * DAY_MS

/**
 * All tokens expire with the API key. A gauge shows when; a daily log line warns in the last two weeks. PAM is asked in the
 * background: when there is a token, then once an hour and after the key has changed. If it refuses, the last known time is used.
 */
export function watchKeyExpiry(options: KeyExpiryOptions): { readIfDue(): void; stop(): void } {
  const { configuredMs, keyId, read, checkMs, monotonic, log, metrics } = options
  const expiry = createKnownExpiry(options)
  let readId: string | undefined
  let nextReadAt = Number.NEGATIVE_INFINITY
  let lastFailure: string | undefined

  function use(times: KeyTimes): void {
    lastFailure = undefined
    metrics.pamKeyLastUsed.set(Math.floor((times.lastUsedMs ?? 0) / 1000))
    expiry.set(times.expiresAtMs)
  }

  function recordFailure(error: unknown, startedAt: number): void {
    nextReadAt = startedAt + RETRY_MS
    const name = error instanceof PamFailure ? error.outcome : 'error'
    if (name !== lastFailure && !expiry.isKnown())
      log.warn('pam_key_expiry_unknown', { upstream: 'pam', name })
    lastFailure = name
  }

  function readIfDue(): void {
    const id = keyId()
    if (id === undefined || (id === readId && monotonic() < nextReadAt)) return
    const reading = read(id)
    if (reading === undefined) return
    if (readId !== undefined && id !== readId) expiry.set(configuredMs) // the time was the old key's
    const startedAt = monotonic()
    readId = id
    nextReadAt = startedAt + HOUR_MS
    const succeeded = (times: KeyTimes) => id === keyId() && use(times)
    reading.then(succeeded, (error) => recordFailure(error, startedAt))
  }

  readIfDue()
  const timers = [setInterval(expiry.report, DAY_MS).unref(), setInterval(readIfDue, checkMs).unref()]
  return { readIfDue, stop: () => timers.forEach(clearInterval) }
}

/** The expiry that is known, which is reported when it changes. */
function createKnownExpiry(options: KeyExpiryOptions) {
  let expiresAtMs = options.configuredMs
  const reportNow = () => report(expiresAtMs, options)
  reportNow()
  return {
    isKnown: () => expiresAtMs !== undefined,
    report: reportNow,
    set(ms: number | undefined) {
      if (ms === expiresAtMs) return
      expiresAtMs = ms
      reportNow()
    },
  }
}

function report(expiresAtMs: number | undefined, { now, log, metrics }: KeyExpiryOptions): void {
  metrics.pamKeyExpiry.set(Math.floor((expiresAtMs ?? 0) / 1000))
  if (expiresAtMs === undefined) return
  const leftMs = expiresAtMs - now()
  if (leftMs <= 0) log.error('pam_key_expired', { upstream: 'pam' })
  else if (leftMs <= WARN_BEFORE_MS)
    log.warn('pam_key_expires_soon', {
      upstream: 'pam',
      count: Math.ceil(leftMs / DAY_MS),
      reason: 'days left',
    })
}
