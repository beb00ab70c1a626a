import { unknownHandle } from '../../errors.ts'
import type { Client } from '../browser/client.ts'
import type { UserDevices } from '../devices/user-devices.ts'
import type { SsoTokens } from '../redirects/sso-tokens.ts'
import type { Sanitizer } from '../sanitize/sanitize.ts'
import type { CallLimit, SignInPacing } from '../throttling/call-limits.ts'
import type { Answer } from '../transaction/answer.ts'
import { acceptedProof } from '../transaction/credentials.ts'
import type { StepAnswer, StepResult } from '../transaction/step-result.ts'
import { afterRejectedStep, opensSession, type Transaction } from '../transaction/transaction.ts'
import { newHandle } from '../transaction/transaction-store.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import { type AuthnReply, isWrongOldPassword, readAnswer } from '../upstream/read-answer.ts'
import { type AnsweredSignIn, type DecideDeps, decide } from './decide.ts'
import type { EndOtherSessions } from './end-other-sessions.ts'
import {
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

export interface SendStepDeps extends DecideDeps, AnsweredStepDeps {
  readonly upstream: AuthnUpstream
  readonly ssoTokens: Pick<SsoTokens, 'isEnabled' | 'write' | 'remove'>
  readonly endOtherSessions: EndOtherSessions
  readonly devices: Pick<UserDevices, 'add' | 'showAutoPush'>
  readonly callLimit: CallLimit
  readonly signInPacing: SignInPacing
  readonly sanitizer: Pick<Sanitizer, 'step'>
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
