import type { AuditEvent, AuditFields } from '../../observability/audit-events.ts'
import type { LogEvent } from '../../observability/log-events.ts'
import { readError } from '../../okta-errors.ts'
import { STATUSES } from '../sanitize/unknown-steps.ts'
import type { Answer } from '../transaction/answer.ts'
import type { Enrollment } from '../transaction/credentials.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { AuthnReply } from '../upstream/read-answer.ts'

/**
 * What a step writes to the audit log, the log and the metrics, as values: the pure rules name it,
 * and `StepAudit` writes it.
 */
export type StepEvent = AuditEntry | LogEntry | MetricEntry

/** The fields of every audit event of a sign-in that are those of its request. */
export type RequestFields = Pick<
  AuditFields<'sign_in_started'>,
  'requestId' | 'address' | 'deviceHash' | 'loginHash' | 'userAgent'
>

export type AuditEntry = {
  readonly [Event in AuditEvent]: {
    readonly audit: Event
    /** As typed: its hash is written. */
    readonly login: string | undefined
    readonly fields: Omit<AuditFields<Event>, keyof RequestFields>
  }
}[AuditEvent]

/** Written with the request id. */
export type LogEntry =
  | { readonly log: 'info'; readonly event: LogEvent<'info'>; readonly fields?: LoggedFields }
  | { readonly log: 'warn'; readonly event: LogEvent<'warn'>; readonly fields?: LoggedFields }
  | { readonly log: 'error'; readonly event: LogEvent<'error'>; readonly fields?: LoggedFields }

export interface LoggedFields {
  readonly operation?: string
  readonly count?: number
  readonly upstream?: string
  readonly upstreamStatus?: number
  readonly upstreamErrorCode?: string | undefined
  readonly upstreamErrorId?: string | undefined
}

export type MetricEntry =
  | {
      readonly metric: 'signInSteps'
      readonly labels: { readonly operation: string; readonly status: string }
    }
  | { readonly metric: 'requestsRefused'; readonly labels: { readonly reason: string } }
  | { readonly metric: 'recoveriesRefused'; readonly labels: { readonly code: string } }
  | { readonly metric: 'tokenLeaksBlocked'; readonly labels: { readonly found_in: string } }

export const refused = (reason: string): MetricEntry => ({ metric: 'requestsRefused', labels: { reason } })

type Started = AuditFields<'sign_in_started'>['operation']

export const signInStarted = (operation: Started, login: string | undefined): StepEvent => ({
  audit: 'sign_in_started',
  login,
  fields: { operation },
})

type Recovery = Pick<AuditFields<'recovery_started'>, 'operation' | 'factorType'>

export const recoveryStarted = (recovery: Recovery, login: string | undefined): StepEvent => ({
  audit: 'recovery_started',
  login,
  fields: recovery,
})

/** A code in a decoy transaction is logged like any wrong code. */
export const decoyFailed = (operation: string, { login }: Transaction, factorType: string): StepEvent => ({
  audit: 'factor_failed',
  login,
  fields: { operation, factorType },
})

/** Okta's error id under the broker's request id. */
export function upstreamError({ status, errorCode, body: { errorId } }: AuthnReply): StepEvent {
  return {
    log: 'info',
    event: 'upstream_error',
    fields: {
      upstream: 'authn',
      upstreamStatus: status,
      upstreamErrorCode: errorCode,
      upstreamErrorId: typeof errorId === 'string' ? errorId.slice(0, 64) : undefined,
    },
  }
}

/** The org refused an address, before it looked at the user. */
export function addressRefused(operation: string, { userId, login }: Transaction): StepEvent[] {
  const counted: StepEvent = { metric: 'signInSteps', labels: { operation, status: 'address_blocked' } }
  if (operation !== 'primary') return [counted]
  const fields = { operation, userId, reason: 'address_blocked' }
  return [counted, { audit: 'sign_in_failed', login, fields }]
}

/** Okta answered with an Error object. */
export function stepRefused(
  operation: string,
  reply: AuthnReply,
  { userId, login, stateToken }: Transaction,
  factorType: string | undefined,
): StepEvent[] {
  const { status, errorCode } = reply
  const counted: StepEvent = { metric: 'signInSteps', labels: { operation, status: errorCode ?? 'error' } }
  const fields = { operation, userId, upstreamErrorCode: errorCode }
  const { audit } = readError(reply, operation)
  if (audit === 'factor_failed') return [counted, { audit, login, fields: { ...fields, factorType } }]
  if (audit !== undefined) return [counted, { audit, login, fields }]
  if (status !== 401 && status !== 403) return [counted]
  if (operation === 'recovery_token') return [counted, { audit: 'recovery_token_refused', login, fields }]
  if (operation !== 'primary') return [counted]
  const startsWithToken = stateToken === '' && login === undefined
  const reason = startsWithToken ? 'activation_token' : undefined
  return [counted, { audit: 'sign_in_failed', login, fields: { ...fields, reason } }]
}

/** Factor results with status 200 that reject a push or a code. */
const REFUSED_FACTORS = ['REJECTED', 'TIMEOUT', 'TIME_WINDOW_EXCEEDED', 'PASSCODE_REPLAYED']

/** Okta accepted the step. */
export function stepAnswered(
  operation: string,
  answer: Answer,
  { before, after }: { readonly before: Transaction; readonly after: Transaction },
  factorType: string | undefined,
): StepEvent[] {
  const { status: transactionStatus, factorResult } = answer
  const { userId, login, factorFailed } = after
  const events: StepEvent[] = [
    { metric: 'signInSteps', labels: { operation, status: statusLabel(transactionStatus) } },
  ]
  const fields = { operation, userId }
  if (factorFailed === true && before.factorFailed !== true) {
    const [typeInUse] = Object.values(answer.factorTypes) // a state request names no factor
    const failed = { ...fields, factorType: factorType ?? typeInUse, reason: factorResult }
    events.push({ audit: 'factor_failed', login, fields: failed })
  }
  if (operation === 'state') return events // it changes nothing
  if (factorResult !== undefined && REFUSED_FACTORS.includes(factorResult))
    events.push({ audit: 'factor_failed', login, fields: { ...fields, factorType, reason: factorResult } })
  else if (isChallenged(operation, before, answer))
    events.push({ audit: 'factor_challenged', login, fields: { ...fields, factorType, transactionStatus } })
  if (transactionStatus === 'LOCKED_OUT')
    events.push({ audit: 'sign_in_failed', login, fields: { ...fields, reason: transactionStatus } })
  if (operation === 'change_password' || operation === 'reset_password')
    events.push({ audit: 'password_changed', login, fields: { operation, userId, transactionStatus } })
  return events
}

/** A factor became active, or an active one changed. */
export function factorEnrolled(
  operation: string,
  { factorType, provider, updatesPhone, replaces }: Enrollment,
  { userId, login }: Transaction,
): StepEvent[] {
  const fields = { operation, userId, factorType, provider }
  const enrolled: StepEvent = replaces
    ? { audit: 'factor_changed', login, fields: { ...fields, reason: 'enrolled_again' } }
    : { audit: 'factor_enrolled', login, fields }
  const phone: StepEvent = { audit: 'factor_changed', login, fields: { ...fields, reason: 'phone_updated' } }
  return updatesPhone ? [enrolled, phone] : [enrolled]
}

/** Whether this answer is a new challenge, not a poll of one. */
function isChallenged(operation: string, before: Transaction, { status }: Answer): boolean {
  return status === 'MFA_CHALLENGE' && (operation === 'resend' || before.status !== status)
}

/** Limits the number of label values. `unknown-steps.ts` counts unknown statuses by name. */
function statusLabel(status: string): string {
  if (status === '') return 'none'
  return STATUSES.has(status) ? status : 'other'
}
