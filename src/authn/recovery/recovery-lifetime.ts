import type { Logger } from '../../observability/logger.ts'
import type { Store } from '../../store/store.ts'
import { type AuthnReply, readAnswer } from '../upstream/read-answer.ts'

/**
 * The lifetime that a recovery challenge advertises: `challengeMinutes`, or Okta's lifetime if that is shorter. It is
 * the same for known and unknown users, on all replicas. Okta states its lifetime only for known users, so the value
 * changes with the first such answer, and only if `challengeMinutes` is too long (docs/security.md).
 */
export interface RecoveryLifetime {
  /** To be read before Okta is called. */
  advertisedMs(): Promise<number>
  /** The same value, lowered for everyone if Okta's lifetime is shorter. `reply` is undefined for a decoy. */
  adjustMs(advertisedMs: number, reply: Pick<AuthnReply, 'body' | 'date'> | undefined): Promise<number>
}

export interface RecoveryLifetimeOptions {
  readonly store: Pick<Store, 'get' | 'set'>
  readonly configuredMs: number
  readonly log: Logger
}

const KEY = 'gatehouse:recovery:lifetime'
/** Kept this long after Okta's last shorter lifetime, so that a single odd answer has no permanent effect. */
const TTL_MS = 30 * 86_400_000
/**
 * Lifetimes are rounded down to a multiple of this, so that small differences do not lower the value again and again.
 */
const ROUND_TO_MS = 10_000
/** `Date` has no fractions of a second. */
const DATE_PRECISION_MS = 1000

export function createRecoveryLifetime({
  store,
  configuredMs,
  log,
}: RecoveryLifetimeOptions): RecoveryLifetime {
  return {
    async advertisedMs() {
      const learnedMs = Number((await store.get(KEY)) ?? Number.NaN)
      return learnedMs >= ROUND_TO_MS ? Math.min(learnedMs, configuredMs) : configuredMs
    },

    async adjustMs(advertisedMs, reply) {
      const oktaMs = reply === undefined ? Number.NaN : lifetimeIn(reply)
      const isBelowConfigured = oktaMs >= ROUND_TO_MS && oktaMs < configuredMs
      const isBelowAdvertised = isBelowConfigured && oktaMs < advertisedMs
      const lifetimeMs = isBelowAdvertised ? oktaMs : advertisedMs
      if (isBelowAdvertised) log.warn('recovery_lifetime_lowered', { upstream: 'authn', lifetimeMs })
      if (isBelowConfigured) await store.set(KEY, String(lifetimeMs), TTL_MS) // each such answer renews the value
      return lifetimeMs
    },
  }
}

/** Okta's lifetime, rounded down; NaN if the answer has none. */
function lifetimeIn({ body, date }: Pick<AuthnReply, 'body' | 'date'>): number {
  const { expiresAt = '' } = readAnswer(body)
  const leftMs = Date.parse(expiresAt) - Date.parse(date ?? '') - DATE_PRECISION_MS
  return Math.floor(leftMs / ROUND_TO_MS) * ROUND_TO_MS
}
