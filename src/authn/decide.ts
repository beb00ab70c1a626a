import { otherUsersSession, unknownHandle, upstreamUnavailable } from '../errors.ts'
import { readError } from '../okta-errors.ts'
import { presentSession, sessionLinksAt } from '../session/present-session.ts'
import {
  factorEnrolled,
  refused,
  type StepEvent,
  stepAnswered,
  stepRefused,
  upstreamError,
} from './audit/step-events.ts'
import { type Plan, planCredential, type StepSettings } from './plan-step.ts'
import { decideChallenge, decideRecoveryStart, isRightCode } from './recovery/decide-recovery.ts'
import type { ChallengePlan } from './recovery/plan-recovery.ts'
import { decideRedirect } from './redirects/redirect-step.ts'
import type { Decision, Facts, OpenedSession } from './step/decision.ts'
import type { SignInPlan } from './step/plan.ts'
import { StepRefusedError, throwIfAddressRefused, unusableAnswer } from './step/step-refused.ts'
import { type OperationRequest, operationOf, type StateRequest } from './step/step-request.ts'
import type { Answer, AnsweredUser } from './transaction/answer.ts'
import {
  awaitsCredential,
  completesEnrollment,
  findActivated,
  type Proof,
} from './transaction/credentials.ts'
import { type StepAnswer, toRefusal } from './transaction/step-outcome.ts'
import {
  advance,
  afterRejectedStep,
  isDifferentUser,
  isOngoing,
  lifetimeMs,
  type OfferedStep,
  type Transaction,
  toRedirectOnly,
} from './transaction/transaction.ts'
import { type AuthnReply, readAnswer } from './upstream/read-answer.ts'

/**
 * Decides what follows from an answer. Pure.
 *
 * @param reply Okta's answer; undefined if the plan has no call
 * @throws StepRefusedError: the transaction stays as it was
 */
export function decide(
  plan: Plan,
  before: Transaction,
  reply: AuthnReply | undefined,
  facts: Facts,
  nowMs: number,
  settings: StepSettings,
): Decision {
  switch (plan.kind) {
    case 'redirect':
      return decideRedirect(plan, before, facts.session?.session)
    case 'sign-in':
      return decideSignIn(
        plan,
        before,
        given(reply, 'a plan with a call has an answer'),
        facts,
        nowMs,
        settings,
      )
    case 'recovery-start':
      return decideRecoveryStart(
        plan,
        before,
        given(reply, 'a plan with a call has an answer'),
        facts,
        nowMs,
        settings,
      )
    default:
      return reply !== undefined && isRightCode(plan, reply)
        ? decideSignIn(afterRightCode(plan, before), before, reply, facts, nowMs, settings)
        : decideChallenge(plan, before, reply, facts, nowMs, settings)
  }
}

/** A right code continues like a step of a sign-in. It proves no user. */
function afterRightCode(
  { operation, attempt, call, minDurationMs, events, challenge }: ChallengePlan,
  { userId }: Transaction,
): SignInPlan {
  return {
    kind: 'sign-in',
    operation,
    attempt,
    minDurationMs,
    events,
    call: given(call, 'a code is verified with a call'),
    proof: undefined,
    factorType: challenge.factorType,
    endsOtherSessions: false,
    changesPassword: false,
    isUserStored: userId !== undefined,
  }
}

function given<Value>(value: Value | undefined, rule: string): Value {
  if (value === undefined) throw new Error(rule)
  return value
}

function decideSignIn(
  plan: SignInPlan,
  before: Transaction,
  reply: AuthnReply,
  facts: Facts,
  nowMs: number,
  settings: StepSettings,
): Decision {
  const { operation, factorType } = plan
  const named = plan.login === undefined ? before : { ...before, login: plan.login }
  const { text, offered } = given(facts.shown, 'the answer of a sign-in is shown')
  const { status, headers, errorCode } = reply
  const outcome: StepAnswer = { kind: 'answer', status, body: text, headers, errorCode }
  if (reply.isError) return decideRefused(plan, before, named, reply, outcome)

  const { answer, accepted, opensFor, mayBePlanted } = given(facts.assessment, 'its answer is assessed')
  if (plan.call.encoding === 'form') {
    const events = stepAnswered(operation, answer, { before, after: before }, factorType)
    return { outcome, after: before, attempt: { outcome }, events } // the next poll has the result
  }
  assertUsable(operation, before, answer)
  const advanced = advanceTransaction(plan, named, { reply, answer, accepted, offered }, nowMs, settings)
  // credentials that Okta did not accept do not identify the user of the transaction
  const after = advanced.credentialAccepted ? advanced : { ...advanced, login: before.login }
  const events = answeredEvents(plan, answer, before, advanced)
  const attempt = { outcome, status: answer.status, factorResult: answer.factorResult }
  const answered = { ...endsOthers(plan, after), ...unlessEnded(plan, after), attempt, events }

  const { session } = facts
  const isOthers = answer.user !== undefined && session?.session.userId !== answer.user.id
  if (mayBePlanted && session !== undefined && isOthers) {
    const refusal = refusePlanted(plan, before)
    const { outcome } = refusal
    const reported = [...events, ...refusal.events]
    return { ...answered, outcome, after: undefined, attempt: { ...attempt, outcome }, events: reported }
  }
  if (opensFor !== undefined) {
    const shown = JSON.parse(text)
    const { profile = {} } = readAnswer(shown).user ?? {}
    const opens = toOpenedSession(opensFor, profile, answer.sessionToken, after, facts, nowMs)
    if (opens === undefined) throw unusableAnswer('no login', events, answered.endsOthersOf)
    const opened = { ...outcome, body: withSession(shown, opens, settings), sessionId: opens.id }
    const next = nextTransaction(after, offered, opens.id, nowMs)
    return { ...answered, outcome: opened, after: next, attempt: { ...attempt, outcome: opened }, opens }
  }
  const { credential } = plan
  if (credential !== undefined && awaitsCredential(nameOf(credential), answer.status))
    return { ...answered, outcome, after, next: planCredential(credential, after, plan.isUserStored) }
  return { ...answered, outcome, after: nextTransaction(after, offered, session?.id, nowMs), offers: offered }
}

/** The user's other sessions end if this step ends them. */
function endsOthers({ endsOtherSessions }: SignInPlan, { userId, login }: Transaction) {
  return endsOtherSessions && userId !== undefined ? { endsOthersOf: { userId, login } } : {}
}

/**
 * No stored record names the user of this transaction: an end of all sessions could not find it.
 */
function unlessEnded({ isUserStored }: SignInPlan, { createdAtMs, userId }: Transaction) {
  return isUserStored || userId === undefined ? {} : { unlessEnded: { userId, sinceMs: createdAtMs } }
}

/** Okta rejected the step. */
function decideRefused(
  plan: SignInPlan,
  before: Transaction,
  named: Transaction,
  reply: AuthnReply,
  outcome: StepAnswer,
): Decision {
  const { operation, factorType } = plan
  throwIfAddressRefused(reply, operation, [upstreamError(reply)])
  const { counts } = readError(reply, operation)
  const events = [upstreamError(reply), ...stepRefused(operation, reply, named, factorType)]
  // Okta no longer knows the state token
  const isGone = reply.status === 401 && reply.errorCode === unknownHandle().code
  const after = isGone ? undefined : afterRejectedStep(before, plan)
  // an earlier call of this request may have named the user
  return { outcome, after, ...unlessEnded(plan, before), attempt: { outcome, counts }, events }
}

/** Throws 502 if the answer has no status, or names a different user than before. */
function assertUsable(operation: string, before: Transaction, answer: Answer): void {
  if (answer.status === '' && operation !== 'cancel') throw unusableAnswer('no status')
  if (isDifferentUser(before, answer))
    throw new StepRefusedError(upstreamUnavailable(new Error('the answer is about another person')), [
      { log: 'error', event: 'user_mismatch', fields: { operation } },
    ])
}

/** A response of Okta offers some twenty; each answer of a transaction adds its own. */
const MAX_OFFERED_STEPS = 2000

function advanceTransaction(
  { operation, factorId, enrollment, pollPath }: SignInPlan,
  before: Transaction,
  { reply, answer, accepted, offered }: AcceptedAnswer,
  nowMs: number,
  { pollEveryMs }: StepSettings,
): Transaction {
  const times = { expiresAt: answer.expiresAt, date: reply.date }
  const after = advance(before, answer, {
    offered,
    accepted,
    factorId,
    enrollment,
    nextPoll: pollPath === undefined ? undefined : { path: pollPath, notBeforeMs: nowMs + pollEveryMs },
    expiresAtMs: nowMs + lifetimeMs(before, times, nowMs),
  })
  const count = after.offered.length
  if (count <= MAX_OFFERED_STEPS) return after
  const logged = { log: 'error', event: 'too_many_steps', fields: { operation, count } } as const
  throw unusableAnswer('too many steps', [refused('too_many_steps'), logged])
}

interface AcceptedAnswer {
  readonly reply: AuthnReply
  readonly answer: Answer
  readonly accepted: Proof | undefined
  readonly offered: readonly OfferedStep[]
}

function answeredEvents(
  { operation, factorType, enrollment }: SignInPlan,
  answer: Answer,
  before: Transaction,
  after: Transaction,
): StepEvent[] {
  const events = stepAnswered(operation, answer, { before, after }, factorType)
  const enrolled = completesEnrollment(operation, answer)
    ? enrollment
    : findActivated(operation, answer, before)
  return enrolled === undefined ? events : [...events, ...factorEnrolled(operation, enrolled, after)]
}

/**
 * The sign-in belongs to another user than the session of this browser, who may not have begun it.
 */
function refusePlanted({ call }: SignInPlan, { origin }: Transaction) {
  const reason = origin === 'imported' ? 'step_up_user_mismatch' : 'token_user_mismatch'
  const tokenField = (['token', 'recoveryToken'] as const).find((name) => name in call.body) ?? 'stateToken'
  const events: StepEvent[] = [refused(reason), { log: 'warn', event: reason }]
  return { outcome: toRefusal(otherUsersSession(tokenField)), events }
}

const REDIRECT_ONLY_MS = 5 * 60_000

/**
 * The transaction while it continues; afterwards a redirect-only one if the last answer has
 * redirects.
 */
function nextTransaction(
  after: Transaction,
  offered: readonly OfferedStep[],
  sessionId: string | undefined,
  nowMs: number,
): Transaction | undefined {
  if (isOngoing(after)) return after
  return toRedirectOnly(after, offered, { expiresAtMs: nowMs + REDIRECT_ONLY_MS, sessionId })
}

/** @param profile as the browser is shown it, without a token */
function toOpenedSession(
  user: AnsweredUser,
  profile: AnsweredUser['profile'],
  sessionToken: string | undefined,
  after: Transaction,
  facts: Facts,
  nowMs: number,
): OpenedSession | undefined {
  const ids = given(facts.ids, 'a session that opens has ids')
  const login = loginIn(profile)
  // never the name that was typed: the login is the user's identity at PAM and at applications
  if (login === undefined) return undefined
  return {
    id: ids.session,
    publicId: ids.public,
    userId: user.id,
    login,
    profile,
    amr: toAmr(after),
    openedAtMs: nowMs,
    logins: [after.login, loginIn(user.profile)].filter((name) => name !== undefined),
    ssoToken:
      ids.ssoToken === undefined || sessionToken === undefined
        ? undefined
        : { handle: ids.ssoToken, sessionToken },
    mayReplaceOtherUser: after.userProved && after.origin !== 'imported',
  }
}

/** The answer for the browser, with the session that it opens: a page need not ask for it. */
function withSession(
  shown: AuthnReply['body'],
  opens: OpenedSession,
  { sessionLimits, publicOrigin }: StepSettings,
): string {
  const { openedAtMs } = opens
  const times = { createdAtMs: openedAtMs, authenticatedAtMs: openedAtMs, lastSeenAtMs: openedAtMs }
  const session = presentSession({ ...opens, ...times }, sessionLimits, sessionLinksAt(publicOrigin))
  return JSON.stringify({ ...shown, _embedded: { ...Object(shown._embedded), session } })
}

function loginIn({ login }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof login === 'string' && login !== '' ? login : undefined
}

/** Adds `mfa` if more than one method was used (RFC 8176 §2). */
function toAmr({ amr }: Transaction): string[] {
  return amr.length > 1 ? [...new Set([...amr, 'mfa'])] : [...amr]
}

/** The name of the operation that sends the credential. */
function nameOf(request: StateRequest | OperationRequest): string {
  return request.kind === 'state' ? 'primary' : operationOf(request).name
}
