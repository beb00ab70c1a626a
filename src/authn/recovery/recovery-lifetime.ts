import type { Logger } from '../../observability/logger.ts'
import type { Store } from '../../store/store.ts'
import { type AuthnReply, readAnswer } from '../upstream/read-answer.ts'

/**
 * How long a recovery challenge is promised to last: `challengeMinutes`, or what Okta gives if that is less. The promise is
 * one figure for known and unknown users, on all replicas. Okta names its own lifetime only for a known user, so the
 * figure changes at the first such answer, once as long as such answers go on, and only if `challengeMinutes` is too long
 * (docs/security.md).
 */
export interface RecoveryLifetime {
  /** The figure for all, in milliseconds; read before Okta is asked. */
  advertisedMs(): Promise<number>
  /** The same figure, lowered for all if Okta's answer says less. `reply` is undefined if Okta was not asked for a user. */
  adjustMs(advertisedMs: number, reply: Pick<AuthnReply, 'body' | 'date'> | undefined): Promise<number>
}

export interface RecoveryLifetimeOptions {
  readonly store: Pick<Store, 'get' | 'set'>
  readonly configuredMs: number
  readonly log: Logger
}

/** Holds no user's data: one figure. */
const PLACE = 'gatehouse:recovery:lifetime'
/** After the last answer that gave less than is configured: one odd answer must not lower the figure for ever. */
const KEPT_MS = 30 * 86_400_000
/** Coarse, so that the answers of one org do not lower the figure again and again by fractions of a second. */
const STEP_MS = 10_000
/** `Date` has no fractions of a second. */
const DATE_PRECISION_MS = 1000

export function createRecoveryLifetime({
  store,
  configuredMs,
  log,
}: RecoveryLifetimeOptions): RecoveryLifetime {
  return {
    async advertisedMs() {
      const learnedMs = Number((await store.get(PLACE)) ?? Number.NaN)
      return learnedMs >= STEP_MS ? Math.min(learnedMs, configuredMs) : configuredMs
    },

    async adjustMs(advertisedMs, reply) {
      const givenMs = reply === undefined ? Number.NaN : givenBy(reply)
      const isShort = givenMs >= STEP_MS && givenMs < configuredMs
      const isLess = isShort && givenMs < advertisedMs
      const lifetimeMs = isLess ? givenMs : advertisedMs
      if (isLess) log.warn('recovery_lifetime_lowered', { upstream: 'authn', lifetimeMs })
      if (isShort) await store.set(PLACE, String(lifetimeMs), KEPT_MS) // each such answer keeps the figure alive
      return lifetimeMs
    },
  }
}

/** Whole steps that surely lie within what Okta gives; NaN if its answer does not say. */
function givenBy({ body, date }: Pick<AuthnReply, 'body' | 'date'>): number {
  const { expiresAt = '' } = readAnswer(body)
  const leftMs = Date.parse(expiresAt) - Date.parse(date ?? '') - DATE_PRECISION_MS
  return Math.floor(leftMs / STEP_MS) * STEP_MS
}
