import { upstreamUnavailable } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { Answer } from '../transaction/answer.ts'
import { completesEnrolment, foundActive } from '../transaction/enrolment.ts'
import { type Lifetime, leftMs, lifetimeMs } from '../transaction/lifetime.ts'
import type { OfferedStep } from '../transaction/offered-steps.ts'
import { advance, personChanged, type Transaction } from '../transaction/transaction.ts'
import type { AuthnReply } from '../upstream/read-answer.ts'
import type { UpstreamStep } from './upstream-step.ts'

/** A step that Okta has answered with a success. */
export interface AnsweredStep {
  readonly before: Transaction
  readonly handle: string
  readonly step: UpstreamStep
  readonly answer: Answer
  readonly client: Client
}

export interface AnsweredStepDeps {
  readonly audit: StepAudit
  readonly lifetime: Lifetime
  readonly maxOfferedSteps: number
  readonly pollEveryMs: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** Throws 502 for an answer that no rule can be applied to. */
export function assertUsable(
  { before, step, answer, client }: AnsweredStep,
  { log }: Pick<AnsweredStepDeps, 'log'>,
): void {
  const { operation } = step
  if (answer.status === '' && operation !== 'cancel')
    throw upstreamUnavailable(new UpstreamFailure('unusable', { code: 'no status' }))
  if (personChanged(before, answer)) {
    log.error('person_changed', { requestId: client.requestId, operation })
    throw upstreamUnavailable(new Error('the answer is about another person'))
  }
}

/** Every factor that the user could choose is hidden. */
export function reportNoFactor({ step, client }: AnsweredStep, { log, metrics }: AnsweredStepDeps): void {
  metrics.refusals.inc({ reason: 'every_factor_hidden' })
  log.warn('every_factor_hidden', { requestId: client.requestId, operation: step.operation })
}

export function advanced(
  { before, step, answer, client }: AnsweredStep,
  reply: AuthnReply,
  offered: readonly OfferedStep[],
  { lifetime, maxOfferedSteps, pollEveryMs, log, metrics, now }: AnsweredStepDeps,
): Transaction {
  const { operation, proof, factorId, enrolment, pollPath } = step
  const givenMs = lifetimeMs(answer.expiresAt, reply.date, lifetime, now())
  const after = advance(before, answer, {
    offered,
    proof,
    factorId,
    enrolment,
    nextPoll: pollPath === undefined ? undefined : { path: pollPath, notBeforeMs: now() + pollEveryMs },
    expiresAtMs: now() + Math.min(givenMs, leftMs(before, lifetime, now())),
  })
  if (after.offered.length <= maxOfferedSteps) return after
  metrics.refusals.inc({ reason: 'too_many_steps' })
  log.error('too_many_steps', { requestId: client.requestId, operation, count: after.offered.length })
  throw upstreamUnavailable(new UpstreamFailure('unusable', { code: 'too many steps' }))
}

export function auditAnswer(
  { before, step, answer, client }: AnsweredStep,
  after: Transaction,
  { audit }: AnsweredStepDeps,
): void {
  const { operation, factorType } = step
  audit.answered(operation, answer, { before, after }, client, factorType)
  const enrolled = completesEnrolment(operation, answer)
    ? step.enrolment
    : foundActive(operation, answer, before)
  if (enrolled !== undefined) audit.enrolled(operation, enrolled, after, client)
}
