import { type Counts, errorOf } from '../../okta-errors.ts'
import type { StepOutcome } from '../transaction/step-outcome.ts'
import type { AttemptKind } from './attempts.ts'

/** What the answer to a step tells about its attempt. */
export interface AttemptResult {
  /** The answer for the browser. */
  readonly outcome: StepOutcome
  /**
   * The status in Okta's answer, also if the broker refuses it. undefined: an Error object, or the
   * broker's own answer.
   */
  readonly status?: string | undefined
  readonly factorResult?: string | undefined
  /**
   * What Okta's Error object counts as. undefined: the code of the outcome tells, if it has one.
   */
  readonly counts?: Counts | undefined
}

/**
 * Factor results that do not reject a code: the sign-in continues, waits, or requires the next
 * code.
 */
const HARMLESS_RESULTS: ReadonlySet<string> = new Set(['SUCCESS', 'WAITING', 'CHALLENGE'])
/**
 * They may reach the user even if the response is lost, or a client could disconnect early and send
 * without limit.
 */
export const SENT: ReadonlySet<AttemptKind> = new Set(['message', 'push', 'recovery'])

/**
 * LOCKED_OUT stays counted like any failure, or the limits would reveal which users are locked out.
 * A push stays counted if it was sent, or if a code with it was rejected.
 */
export function staysCounted(kind: AttemptKind, result: AttemptResult): boolean {
  const { outcome, status, factorResult } = result
  // if Okta answered with a status, it was sent, even if the broker refuses the answer
  const isSent = SENT.has(kind) && (codeOf(outcome) === undefined || status !== undefined)
  const counts = refusalOf(result)
  if (kind === 'token') return counts === 'guess' || counts === 'token'
  if (kind === 'message' || kind === 'recovery') return isSent
  if (kind === 'push') return isSent || counts === 'guess'
  const isRejected = counts === 'guess' || counts === 'locked' || status === 'LOCKED_OUT'
  if (kind === 'password') return isRejected
  // some factors reject a code with status 200
  return isRejected || (factorResult !== undefined && !HARMLESS_RESULTS.has(factorResult))
}

/** What a refusal counts as; undefined for a success, and for an unknown code. */
function refusalOf({ counts, outcome }: AttemptResult): Counts | undefined {
  return counts ?? errorOf(codeOf(outcome))?.counts
}

function codeOf(outcome: AttemptResult['outcome']): string | undefined {
  return outcome.kind === 'refusal' ? outcome.code : outcome.errorCode
}

/**
 * Whether the call stays counted: Okta answered it with a 4xx, but not with its own rate limit; or
 * with a code that counts whatever its status; or it rejected a guess with another status. If an
 * answer has a status, it was a success, even if the broker refuses it.
 */
export function isRefusedCall(kind: AttemptKind, result: AttemptResult): boolean {
  const { outcome, status } = result
  const counts = refusalOf(result) ?? 'nothing'
  if (status === undefined && (isRefusal(outcome.status) || counts !== 'nothing')) return true
  return (kind === 'password' || kind === 'code') && staysCounted(kind, result)
}

/** Whether a status of Okta refuses a call. */
export function isRefusal(status = 0): boolean {
  return status >= 400 && status < 500 && status !== 429
}
