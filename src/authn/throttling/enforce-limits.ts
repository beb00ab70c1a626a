import { type BrokerError, rateLimited, recoveryNotAvailable } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { CountResult, WindowKey } from '../../store/attempt-counters.ts'
import { limitTimes } from '../../store/limits.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit/step-audit.ts'
import type { Client } from '../browser/client.ts'
import { type AttemptWindows, type ReachedLimit, reachedLimits } from './attempt-windows.ts'
import type { Attempt } from './attempts.ts'

/** The store's result for the windows of the user, or those of the address. */
export interface CountedRequest extends CountResult {
  readonly request: AttemptWindows
}

export interface RefundDeps {
  readonly store: Pick<Store, 'refundAttempt'>
  readonly log: Logger
}

export interface EnforceLimitsDeps extends LimitReachedDeps, RefundDeps {}

/**
 * Throws 429 if a limit is used up, or 403 if the attempt needs a known device. Returns where the
 * attempt stays counted: for a known device, not at the address.
 */
export function enforceLimits(
  deps: EnforceLimitsDeps,
  results: readonly CountedRequest[],
  attempt: Attempt,
  client: Client,
): readonly CountedRequest[] {
  const isKnown = results.some(({ overridden }) => overridden)
  if (attempt.onlyKnownDevices === true && !isKnown) {
    refund(deps, results, client)
    throw recoveryNotAvailable()
  }
  const applied = results.filter(({ overridden }) => overridden === isKnown)
  const usedUp = applied.flatMap((result) => reachedLimits(result.request, result))
  const [longest] = usedUp.sort((a, b) => b.leftMs - a.leftMs)
  const refunded = longest === undefined ? results.filter((result) => !applied.includes(result)) : results
  refund(deps, refunded, client)
  if (longest !== undefined) throw limitReachedError(deps, longest, attempt, client)
  return applied
}

/** In the background. */
export function refund(
  { store, log }: RefundDeps,
  results: readonly CountedRequest[],
  { requestId }: Client,
  keeps: (window: WindowKey) => boolean = () => false,
): void {
  for (const { request, countedWindows } of results) {
    const refunded = countedWindows.filter(({ window }) => !keeps(window))
    if (refunded.length === 0) continue
    store
      .refundAttempt(request.keyPrefix, refunded)
      .catch((error: unknown) => log.warn('attempt_refund_failed', { requestId }, error))
  }
}

export interface LimitReachedDeps {
  readonly audit: Pick<StepAudit, 'limitHit'>
  readonly now: () => number
}

/** Creates the 429 E0000047 of a limit that is used up, and audits it. */
export function limitReachedError(
  { audit, now }: LimitReachedDeps,
  { label, max, leftMs }: ReachedLimit,
  { operation, factorType, login, userId }: Omit<Attempt, 'kind'>,
  client: Client,
): BrokerError {
  const times = limitTimes(max, leftMs, now())
  const { retryAfterSeconds } = times
  audit.limitHit({ limit: label, operation, factorType, login, userId, retryAfterSeconds }, client)
  return rateLimited(times)
}
