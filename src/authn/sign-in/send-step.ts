import { addressBlocked, unknownHandle, upstreamUnavailable } from '../../errors.ts'
import { innermostFailure } from '../../observability/dependency-failure.ts'
import { readError } from '../../okta-errors.ts'
import type { RevocationTimes } from '../../revocation/revocation-times.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { Client } from '../browser/client.ts'
import type { SsoTokens } from '../redirects/sso-tokens.ts'
import type { Sanitizer } from '../sanitize/sanitize.ts'
import type { Answer } from '../transaction/answer.ts'
import {
  acceptedProof,
  completesEnrollment,
  findActivated,
  opensSession,
} from '../transaction/credentials.ts'
import { type StepAnswer, type StepResult, toRefusal } from '../transaction/step-result.ts'
import {
  advance,
  afterRejectedStep,
  isDifferentUser,
  lifetimeMs,
  type OfferedStep,
  type Transaction,
} from '../transaction/transaction.ts'
import { newHandle, type TransactionStore } from '../transaction/transaction-store.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import { type AuthnReply, readAnswer } from '../upstream/read-answer.ts'
import {
  type AnsweredSignIn,
  type ConcludeStepDeps,
  concludeStep,
  wasUserSignedOut,
} from './conclude-step.ts'
import type { EndOtherSessions } from './end-other-sessions.ts'
import type { UpstreamStep } from './upstream-step.ts'

export type SendStep = ReturnType<typeof createSendStep>

export interface SendStepDeps extends ConcludeStepDeps {
  readonly upstream: AuthnUpstream
  readonly revocationTimes: Pick<RevocationTimes, 'revokedSince'>
  readonly ssoTokens: Pick<SsoTokens, 'isEnabled' | 'write' | 'remove'>
  readonly endOtherSessions: EndOtherSessions
  readonly transactions: Pick<TransactionStore, 'announcePasswordChange'>
  readonly sanitizer: Pick<Sanitizer, 'step'>
  readonly pollEveryMs: number
}

const PASSWORD_CHANGES: ReadonlySet<string> = new Set(['change_password', 'reset_password'])

/** Sends a step to Okta, sanitizes the answer, and decides about the transaction and the session. */
export function createSendStep(deps: SendStepDeps) {
  return async (
    before: Transaction,
    handle: string,
    step: UpstreamStep,
    client: Client,
  ): Promise<StepResult> => {
    if (PASSWORD_CHANGES.has(step.operation) && step.isUserStored !== false)
      await deps.transactions.announcePasswordChange(before, handle)
    const reply = await sendCall(before, step, client, deps)
    const answer = readAnswer(reply.body)
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
    const after = advanceTransaction(answered, reply, shown.offered, deps)
    auditAnswer(answered, after, deps)
    // before this step may end the user's other sessions
    const isSignedOut = await wasUserSignedOut(before, after, step, deps)
    // the password has changed even if the broker refuses the answer
    if (step.revokesSessions === true) await deps.endOtherSessions(after, handle, client)
    const oktaResult = { status: answer.status, factorResult: answer.factorResult }
    if (isSignedOut) return { ...oktaResult, outcome: toRefusal(unknownHandle()), after: undefined }
    const signIn = { before, after, handle, answer, outcome, offered: shown.offered, ssoToken }
    const concluded = await concludeStep({ ...signIn, tokenField: tokenFieldOf(step) }, client, deps)
    return { ...concluded, ...oktaResult }
  }
}

/** Throws 403 if the org refuses the address, which counts against no user. */
async function sendCall(
  before: Transaction,
  { call, operation }: UpstreamStep,
  client: Client,
  { upstream, audit }: Pick<SendStepDeps, 'upstream' | 'audit'>,
): Promise<AuthnReply> {
  try {
    const reply = await upstream.send(call, client)
    if (!reply.isError || readError(reply, operation).refusesAddress !== true) return reply
    audit.upstreamError(reply, client)
    throw addressBlocked(new UpstreamFailure('address_blocked', { upstreamStatus: reply.status }))
  } catch (error) {
    if (innermostFailure(error)?.outcome === 'address_blocked')
      audit.addressBlocked(operation, before, client)
    throw error
  }
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
): Pick<StepResult, 'after' | 'counts'> {
  audit.upstreamError(reply, client)
  audit.refused(step.operation, reply, before, client, step.factorType)
  // Okta no longer knows the state token
  const isGone = reply.status === 401 && reply.errorCode === unknownHandle().code
  return {
    after: isGone ? undefined : afterRejectedStep(before, step),
    counts: readError(reply, step.operation).counts,
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

/** A response of Okta offers some twenty; each answer of a transaction adds its own. */
const MAX_OFFERED_STEPS = 2000

function advanceTransaction(
  { before, step, answer, client }: AnsweredStep,
  reply: AuthnReply,
  offered: readonly OfferedStep[],
  { pollEveryMs, log, metrics, now }: SendStepDeps,
): Transaction {
  const { operation, proof, factorId, enrollment, pollPath } = step
  const times = { expiresAt: answer.expiresAt, date: reply.date }
  const after = advance(before, answer, {
    offered,
    proof,
    factorId,
    enrollment,
    nextPoll: pollPath === undefined ? undefined : { path: pollPath, notBeforeMs: now() + pollEveryMs },
    expiresAtMs: now() + lifetimeMs(before, times, now()),
  })
  if (after.offered.length <= MAX_OFFERED_STEPS) return after
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
