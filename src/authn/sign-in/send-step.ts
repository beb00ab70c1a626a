import { otherUsersSession, unknownHandle } from '../../errors.ts'
import type { RevocationTimes } from '../../session/revocation-times.ts'
import type { Sessions } from '../../session/sessions.ts'
import type { Client } from '../browser/client.ts'
import type { SsoTokens } from '../redirects/sso-tokens.ts'
import type { SanitizedStep, Sanitizer } from '../sanitize/sanitize.ts'
import type { CallLimit } from '../throttling/call-limit.ts'
import type { SignInPacing } from '../throttling/sign-in-pacing.ts'
import type { Answer } from '../transaction/answer.ts'
import { acceptedProof, isUnverifiedImport } from '../transaction/credentials.ts'
import type { OfferedResources } from '../transaction/offered-resources.ts'
import type { OfferedStep } from '../transaction/offered-steps.ts'
import { type StepAnswer, type StepResult, toRefusal } from '../transaction/step-result.ts'
import {
  afterRejectedStep,
  isOngoing,
  opensSession,
  type Transaction,
  toRedirectOnly,
} from '../transaction/transaction.ts'
import { newHandle } from '../transaction/transaction-store.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import { type AuthnReply, isWrongOldPassword, readAnswer } from '../upstream/read-answer.ts'
import { type IssueSessionDeps, issueSession } from './commit.ts'
import type { EndOtherSessions } from './end-other-sessions.ts'
import {
  type AnsweredStep,
  type AnsweredStepDeps,
  advanceTransaction,
  assertUsable,
  auditAnswer,
  reportAllHidden,
  type UpstreamStep,
} from './upstream-step.ts'

/** Sends a step to Okta, sanitizes the answer, and decides about the transaction and the session. */
export type SendStep = (
  before: Transaction,
  handle: string,
  step: UpstreamStep,
  client: Client,
) => Promise<StepResult>

export interface SendStepDeps extends IssueSessionDeps, AnsweredStepDeps {
  readonly upstream: AuthnUpstream
  readonly sessions: Pick<Sessions, 'get' | 'prepare'>
  readonly ssoTokens: Pick<SsoTokens, 'isEnabled' | 'write' | 'remove'>
  readonly revocationTimes: Pick<RevocationTimes, 'revokedSince'>
  readonly endOtherSessions: EndOtherSessions
  readonly offeredResources: Pick<OfferedResources, 'keep'>
  readonly callLimit: CallLimit
  readonly signInPacing: SignInPacing
  readonly sanitizer: Pick<Sanitizer, 'step'>
  /** How long a redirect-only transaction lasts. */
  readonly redirectOnlyMs: number
}

export function createSendStep(deps: SendStepDeps): SendStep {
  return async (before, handle, step, client) => {
    const reply = await send(before, step, client, deps)
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
    if (shown.allHidden) reportAllHidden(answered, deps)
    const after = advanceTransaction(answered, reply, shown.offered, deps)
    auditAnswer(answered, after, deps)
    // done first, because the password has changed even if the broker refuses the answer
    if (step.revokesSessions === true) await deps.endOtherSessions(after, handle, client)
    const decided = await decide(answered, after, { ...shown, outcome, ssoToken }, deps)
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

/** Refuses the answer, continues the transaction, or issues the session. */
async function decide(
  { before, handle, step, answer, client }: AnsweredStep,
  after: Transaction,
  shown: SanitizedStep & { readonly outcome: StepAnswer; readonly ssoToken: string | undefined },
  deps: SendStepDeps,
): Promise<Pick<StepResult, 'outcome' | 'after' | 'session'>> {
  const { outcome, offered, ssoToken } = shown
  if (await wasUserSignedOut(before, after, deps))
    return { outcome: toRefusal(unknownHandle()), after: undefined }
  const open = mayBePlanted(before, after) ? await openSession(client, deps) : undefined
  if (open !== undefined && answer.user !== undefined && open.userId !== answer.user.id)
    return { outcome: refusePlanted(before, step, client, deps), after: undefined }
  if (!opensSession(after, answer)) {
    const stateTokens = [after.stateToken, ...after.retiredTokens]
    const ttlMs = after.expiresAtMs - deps.now()
    await deps.offeredResources.keep(client.device.id, offered, { handle, stateTokens, ttlMs })
    const sessionId = open === undefined ? undefined : client.sessionId
    return { outcome, after: nextTransaction(after, offered, sessionId, deps) }
  }
  const profile = readAnswer(shown.body).user?.profile ?? {}
  const session = issueSession({ answer, after, profile, ssoToken }, client, deps)
  const { id: sessionId } = session
  return {
    outcome: { ...outcome, sessionId },
    after: nextTransaction(after, offered, sessionId, deps),
    session,
  }
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

/**
 * All sessions of the user were ended after the transaction began, but the transaction was not, because its stored
 * record does not name the user. For an imported one, the first call of this step may have named the user; only the
 * commit stores that.
 */
async function wasUserSignedOut(
  before: Transaction,
  { userId }: Transaction,
  { revocationTimes }: Pick<SendStepDeps, 'revocationTimes'>,
): Promise<boolean> {
  const isUnnamed = before.userId === undefined || isUnverifiedImport(before)
  return (
    before.stateToken !== '' &&
    isUnnamed &&
    userId !== undefined &&
    revocationTimes.revokedSince(userId, before.createdAtMs)
  )
}

/** The browser's user may not have begun the sign-in, so it must not replace another user's session (docs/security.md#sessions). */
function mayBePlanted(before: Transaction, after: Transaction): boolean {
  return before.origin === 'imported' || !after.userProved
}

/** This browser's session. */
async function openSession({ sessionId, device }: Client, { sessions }: Pick<SendStepDeps, 'sessions'>) {
  return sessionId === undefined ? undefined : sessions.get(sessionId, device.id)
}

function refusePlanted(
  before: Transaction,
  step: UpstreamStep,
  client: Client,
  { log, metrics }: SendStepDeps,
) {
  const reason = before.origin === 'imported' ? 'step_up_user_mismatch' : 'token_user_mismatch'
  metrics.requestsRefused.inc({ reason })
  log.warn(reason, { requestId: client.requestId })
  const field = (['token', 'recoveryToken'] as const).find((name) => name in step.call.body)
  return toRefusal(otherUsersSession(field ?? 'stateToken'))
}

/** The transaction while it continues; afterwards a redirect-only one if the last answer has redirects. */
function nextTransaction(
  after: Transaction,
  offered: readonly OfferedStep[],
  sessionId: string | undefined,
  { redirectOnlyMs, now }: Pick<SendStepDeps, 'redirectOnlyMs' | 'now'>,
): Transaction | undefined {
  return isOngoing(after)
    ? after
    : toRedirectOnly(after, offered, { expiresAtMs: now() + redirectOnlyMs, sessionId })
}
