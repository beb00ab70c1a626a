import { upstreamUnavailable } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { AttemptedStep } from '../throttling/attempts.ts'
import type { Answer } from '../transaction/answer.ts'
import {
  completesEnrollment,
  type Enrollment,
  EXTERNAL_FACTOR_PROOF,
  enrollmentOfStep,
  findActivated,
  getProof,
  type Proof,
} from '../transaction/credentials.ts'
import type { OfferedStep } from '../transaction/offered-steps.ts'
import {
  advance,
  isDifferentUser,
  type LifetimeBounds,
  lifetimeMs,
  type Transaction,
} from '../transaction/transaction.ts'
import { type AuthnCall, PRIMARY } from '../upstream/authn-upstream.ts'
import type { AuthnReply } from '../upstream/read-answer.ts'
import type { Operation } from './operations.ts'
import type { PrimaryBody, QueryFlags } from './schemas.ts'

/** A step as it is sent to Okta, and what it means if Okta accepts it. */
export interface UpstreamStep {
  readonly operation: string
  readonly call: AuthnCall
  readonly proof: Proof | undefined
  readonly factorType?: string | undefined
  /** The factor in the path. */
  readonly factorId?: string | undefined
  /** The factor that the step sets up. */
  readonly enrollment?: Enrollment | undefined
  /** The path, if the step is a poll. */
  readonly pollPath?: string | undefined
  /** The `autoPush` choice in the query. */
  readonly autoPush?: boolean | undefined
  /** All other sessions of the user must end. */
  readonly revokesSessions?: boolean | undefined
}

/** The body of primary authentication without its handle. */
export type StateFields = Omit<PrimaryBody, 'stateToken'>

/** A request for the transaction's state, or step-up with credentials. */
export function buildStateStep(before: Transaction, body: StateFields, deadline?: number): UpstreamStep {
  // if the status changes, the challenged factor was verified, even if not by a step here
  const waitsForFactor = before.status === 'MFA_CHALLENGE' && before.credentialAccepted
  return {
    operation: body.username === undefined ? 'state' : 'primary',
    call: { path: PRIMARY, body: primaryFields(body, before.stateToken), bearsToken: true, deadline },
    proof: waitsForFactor ? EXTERNAL_FACTOR_PROOF : undefined,
  }
}

export interface OperationStep {
  readonly operation: Operation
  readonly path: string
  readonly query: QueryFlags
  readonly pollPath: string | undefined
  readonly attempted: AttemptedStep
}

/** An operation within a transaction. */
export function buildOperationStep(
  step: OperationStep,
  before: Transaction,
  deadline?: number,
): UpstreamStep {
  const { operation, path, query, pollPath, attempted } = step
  const { fields, factorId, factorType } = attempted
  return {
    operation: operation.name,
    call: {
      path: path + toQueryString(query),
      body: { stateToken: before.stateToken, ...fields },
      bearsToken: true,
      encoding: operation.encoding,
      deadline,
    },
    proof: getProof(operation.credential, attempted, before),
    factorType,
    factorId,
    enrollment: enrollmentOfStep({ ...attempted, updatePhone: query.updatePhone === 'true' }, before),
    pollPath,
    autoPush: query.autoPush === undefined ? undefined : query.autoPush === 'true',
    revokesSessions: fields.revokeSessions === true,
  }
}

/** The browser's `context` is dropped: `authn-upstream.ts` adds the broker's own. */
export function primaryFields(body: StateFields, stateToken: string | undefined) {
  const { context: _dropped, ...rest } = body
  return { ...rest, ...(stateToken === undefined ? {} : { stateToken }) }
}

function toQueryString(query: QueryFlags): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}

/** A step that Okta answered with a success. */
export interface AnsweredStep {
  readonly before: Transaction
  readonly handle: string
  readonly step: UpstreamStep
  readonly answer: Answer
  readonly client: Client
}

export interface AnsweredStepDeps {
  readonly audit: StepAudit
  readonly lifetime: LifetimeBounds
  readonly maxOfferedSteps: number
  readonly pollEveryMs: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** Throws 502 if the answer has no status, or names a different user than before. */
export function assertUsable(
  { before, step, answer, client }: AnsweredStep,
  { log }: Pick<AnsweredStepDeps, 'log'>,
): void {
  const { operation } = step
  if (answer.status === '' && operation !== 'cancel')
    throw upstreamUnavailable(new UpstreamFailure('invalid_response', { code: 'no status' }))
  if (isDifferentUser(before, answer)) {
    log.error('user_mismatch', { requestId: client.requestId, operation })
    throw upstreamUnavailable(new Error('the answer is about another person'))
  }
}

/** Reports that every factor the user could choose is hidden. */
export function reportAllHidden({ step, client }: AnsweredStep, { log, metrics }: AnsweredStepDeps): void {
  metrics.requestsRefused.inc({ reason: 'no_visible_factors' })
  log.warn('no_visible_factors', { requestId: client.requestId, operation: step.operation })
}

export function advanceTransaction(
  { before, step, answer, client }: AnsweredStep,
  reply: AuthnReply,
  { offered, autoPush }: { readonly offered: readonly OfferedStep[]; readonly autoPush: boolean | undefined },
  { lifetime, maxOfferedSteps, pollEveryMs, log, metrics, now }: AnsweredStepDeps,
): Transaction {
  const { operation, proof, factorId, factorType, enrollment, pollPath } = step
  const times = { expiresAt: answer.expiresAt, date: reply.date }
  const after = advance(before, answer, {
    offered,
    proof,
    factorId,
    enrollment,
    autoPush: { factorType, requested: step.autoPush, stored: autoPush },
    nextPoll: pollPath === undefined ? undefined : { path: pollPath, notBeforeMs: now() + pollEveryMs },
    expiresAtMs: now() + lifetimeMs(before, times, lifetime, now()),
  })
  if (after.offered.length <= maxOfferedSteps) return after
  metrics.requestsRefused.inc({ reason: 'too_many_steps' })
  log.error('too_many_steps', { requestId: client.requestId, operation, count: after.offered.length })
  throw upstreamUnavailable(new UpstreamFailure('invalid_response', { code: 'too many steps' }))
}

export function auditAnswer(
  { before, step, answer, client }: AnsweredStep,
  after: Transaction,
  { audit }: AnsweredStepDeps,
): void {
  const { operation, factorType } = step
  audit.answered(operation, answer, { before, after }, client, factorType)
  const enrolled = completesEnrollment(operation, answer)
    ? step.enrollment
    : findActivated(operation, answer, before)
  if (enrolled !== undefined) audit.enrolled(operation, enrolled, after, client)
}
