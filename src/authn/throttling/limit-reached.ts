import { type BrokerError, rateLimited } from '../../errors.ts'
import { limitTimes } from '../../store/limits.ts'
import type { StepAudit } from '../audit/step-audit.ts'
import type { Client } from '../browser/client.ts'
import type { Attempt } from './attempts.ts'

export interface ReachedLimit {
  /** The label of `gatehouse_limit_hits_total`. */
  readonly label: string
  readonly max: number
  readonly leftMs: number
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
