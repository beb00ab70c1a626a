import { unknownHandle, upstreamUnavailable } from '../../errors.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { Client } from '../browser/client.ts'
import type { UserDevices } from '../devices/user-devices.ts'
import type { SsoTokens } from '../redirects/sso-tokens.ts'
import type { Sanitizer } from '../sanitize/sanitize.ts'
import type { CallLimit, SignInPacing } from '../throttling/call-limits.ts'
import type { Answer } from '../transaction/answer.ts'
import {
  acceptedProof,
  completesEnrollment,
  findActivated,
  opensSession,
} from '../transaction/credentials.ts'
import type { StepAnswer, StepResult } from '../transaction/step-result.ts'
import {
  advance,
  afterRejectedStep,
  isDifferentUser,
  type LifetimeBounds,
  lifetimeMs,
  type OfferedStep,
  type Transaction,
} from '../transaction/transaction.ts'
import { newHandle } from '../transaction/transaction-store.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import { type AuthnReply, isWrongOldPassword, readAnswer } from '../upstream/read-answer.ts'
import { type AnsweredSignIn, type DecideDeps, decide } from './decide.ts'
import type { EndOtherSessions } from './end-other-sessions.ts'
import type { UpstreamStep } from './upstream-step.ts'

/** Sends a step to Okta, sanitizes the answer, and decides about the transaction and the session. */
export type SendStep = (
  before: Transaction,
  handle: string,
  step: UpstreamStep,
  client: Client,
) => Promise<StepResult>

export interface SendStepDeps extends DecideDeps {
  readonly upstream: AuthnUpstream
  readonly ssoTokens: Pick<SsoTokens, 'isEnabled' | 'write' | 'remove'>
  readonly endOtherSessions: EndOtherSessions
  readonly devices: Pick<UserDevices, 'add' | 'showAutoPush'>
  readonly callLimit: CallLimit
  readonly signInPacing: SignInPacing
  readonly sanitizer: Pick<Sanitizer, 'step'>
  readonly lifetime: LifetimeBounds
  readonly maxOfferedSteps: number
  readonly pollEveryMs: number
}

export function createSendStep(deps: SendStepDeps): SendStep {
  return async (before, handle, step, client) => {
    const sent = await send(before, step, client, deps)
    const answer = readAnswer(sent.body)
    const { reply, stored: autoPush } = await deps.devices.showAutoPush(sent, before, answer.user, client)
    const ssoToken = reply.isError ? undefined : ssoTokenFor(before, step, answer, deps)
    const shown = deps.sanitizer.step(reply, { before, handle, ssoToken }, client)
    const { status, headers, errorCode } = reply
    const outcome: StepAnswer = { kind: 'answer', status, body: shown.text, headers, errorCode }
    if (reply.isError) return { outcome, ...afterError(reply, before, step, client, deps) }

    const answered = { before, handle, step, answer, client }
    if (step.call.encoding === 'form') {
      deps.audit.answered(step.operation, answer, { before, after: before }, client, step.factorType)
      return { outcome, after: before } // the next poll has the result
    }
    assertUsable(answered, deps)
    if (shown.allHidden) reportAllHidden(answered, deps)
    const after = advanceTransaction(answered, reply, { ...shown, autoPush }, deps)
    auditAnswer(answered, after, deps)
    // done first, because the password has changed even if the broker refuses the answer
    if (step.revokesSessions === true) await deps.endOtherSessions(after, handle, client)
    const shownUser = readAnswer(shown.body).user
    const signIn = { before, after, handle, answer, shownUser, outcome, offered: shown.offered, ssoToken }
    const decided = await decide({ ...signIn, tokenField: tokenFieldOf(step) }, client, deps)
    return { ...decided, status: answer.status, factorResult: answer.factorResult }
  }
}

function send(
  before: Transaction,
  { operation, call }: UpstreamStep,
  client: Client,
  { upstream, callLimit, signInPacing }: SendStepDeps,
): Promise<AuthnReply> {
  const sending = async () => {
    if (typeof call.body.username === 'string') await signInPacing.wait(call.body.username, client)
    return upstream.send(call, client)
  }
  // recovery has its own limits: anyone can start one for a name, and could use up the calls of its user
  return before.recovery === undefined ? callLimit.send(before, operation, client, sending) : sending()
}

/** The field that brought the sign-in to this browser. */
function tokenFieldOf({ call }: UpstreamStep): AnsweredSignIn['tokenField'] {
  return (['token', 'recoveryToken'] as const).find((name) => name in call.body) ?? 'stateToken'
}

/** The browser's handle for Okta's session token, if SSO is configured and the answer opens a session. */
function ssoTokenFor(
  before: Transaction,
  { proof }: UpstreamStep,
  answer: Answer,
  { ssoTokens }: SendStepDeps,
): string | undefined {
  const credentialAccepted = before.credentialAccepted || acceptedProof(proof, answer) !== undefined
  const isIssued = ssoTokens.isEnabled && answer.sessionToken !== undefined
  return isIssued && opensSession({ credentialAccepted }, answer) ? newHandle() : undefined
}

function afterError(
  reply: AuthnReply,
  before: Transaction,
  step: UpstreamStep,
  client: Client,
  { audit }: SendStepDeps,
): Pick<StepResult, 'after' | 'wrongOldPassword'> {
  audit.upstreamError(reply, client)
  audit.refused(step.operation, reply, before, client, step.factorType)
  // Okta no longer knows the state token
  const isGone = reply.status === 401 && reply.errorCode === unknownHandle().code
  return {
    after: isGone ? undefined : afterRejectedStep(before, step),
    wrongOldPassword: isWrongOldPassword(reply),
  }
}

/** A step that Okta answered with a success. */
interface AnsweredStep {
  readonly before: Transaction
  readonly handle: string
  readonly step: UpstreamStep
  readonly answer: Answer
  readonly client: Client
}

/** Throws 502 if the answer has no status, or names a different user than before. */
function assertUsable(
  { before, step, answer, client }: AnsweredStep,
  { log }: Pick<SendStepDeps, 'log'>,
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
function reportAllHidden({ step, client }: AnsweredStep, { log, metrics }: SendStepDeps): void {
  metrics.requestsRefused.inc({ reason: 'no_visible_factors' })
  log.warn('no_visible_factors', { requestId: client.requestId, operation: step.operation })
}

function advanceTransaction(
  { before, step, answer, client }: AnsweredStep,
  reply: AuthnReply,
  { offered, autoPush }: { readonly offered: readonly OfferedStep[]; readonly autoPush: boolean | undefined },
  { lifetime, maxOfferedSteps, pollEveryMs, log, metrics, now }: SendStepDeps,
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

function auditAnswer(
  { before, step, answer, client }: AnsweredStep,
  after: Transaction,
  { audit }: SendStepDeps,
): void {
  const { operation, factorType } = step
  audit.answered(operation, answer, { before, after }, client, factorType)
  const enrolled = completesEnrollment(operation, answer)
    ? step.enrollment
    : findActivated(operation, answer, before)
  if (enrolled !== undefined) audit.enrolled(operation, enrolled, after, client)
}
