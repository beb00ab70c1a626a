import {
  type BrokerError,
  rateLimited,
  upstreamTemporarilyUnavailable,
  upstreamUnavailable,
  wrongCode,
} from '../../errors.ts'
import { errorOf } from '../../okta-errors.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import { decoyFailed, type StepEvent, stepRefused, upstreamError } from '../audit/step-events.ts'
import type { Decision, Facts } from '../step/decision.ts'
import { StepRefusedError } from '../step/step-refused.ts'
import { type StepOutcome, toRefusal } from '../transaction/step-outcome.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type AuthnReply, readAnswer } from '../upstream/read-answer.ts'
import type { ChallengePlan, ChallengeSettings, RecoveryStartPlan } from './plan-recovery.ts'
import { cancelAnswer, challengeAnswer, challengeSteps, emailAnswer } from './recovery-template.ts'

/** Okta's answer to the start of a recovery. Only its failures and its rate limit are shown. */
export function decideRecoveryStart(
  plan: RecoveryStartPlan,
  before: Transaction,
  reply: AuthnReply,
  { handle, randomStateToken = '' }: Facts,
  nowMs: number,
  { challengeLifetimeMs, publicOrigin }: ChallengeSettings,
): Decision {
  const { recoveryType, factorType, login, relayState } = plan
  throwIfUnavailable(reply, upstreamUnavailable)
  const { stateToken, events } = readStart(reply)
  if (factorType === 'EMAIL') return decision(emailAnswer(recoveryType, relayState), undefined, events)
  const after: Transaction = {
    ...before,
    login,
    createdAtMs: nowMs,
    // a decoy's steps are sent to Okta too, so its token is random and unknown there
    stateToken: stateToken ?? randomStateToken,
    status: 'RECOVERY_CHALLENGE',
    offered: challengeSteps(factorType),
    expiresAtMs: nowMs + challengeLifetimeMs,
    isRecovery: true,
    relayState,
    recovery: { factorType, recoveryType, sentAtMs: nowMs, decoy: stateToken === undefined, wrongCodes: 0 },
  }
  return decision(challengeAnswer(after, handle, publicOrigin), after, events)
}

/**
 * The state token if Okta sent a code. undefined is not shown to the browser: the transaction
 * becomes a decoy.
 */
function readStart(reply: AuthnReply): { stateToken: string | undefined; events: StepEvent[] } {
  if (reply.isError) {
    const { errorCode } = reply
    const counted: StepEvent = { metric: 'recoveriesRefused', labels: { code: errorCode ?? 'other' } }
    const logged: StepEvent = {
      log: 'info',
      event: 'recovery_refused',
      fields: { upstreamErrorCode: errorCode },
    }
    return { stateToken: undefined, events: [counted, logged] }
  }
  if ('recoveryToken' in reply.body) {
    const counted: StepEvent = { metric: 'tokenLeaksBlocked', labels: { found_in: 'recovery' } }
    return { stateToken: undefined, events: [counted, { log: 'error', event: 'recovery_token_dropped' }] }
  }
  const answer = readAnswer(reply.body)
  return { stateToken: answer.status === 'RECOVERY_CHALLENGE' ? answer.stateToken : undefined, events: [] }
}

export function isRightCode({ kind, challenge }: ChallengePlan, { isError }: AuthnReply): boolean {
  return kind === 'recovery-verify' && !challenge.decoy && !isError
}

/**
 * A step while a recovery code is awaited. A right code is not decided here: it continues like a
 * step of a sign-in.
 */
export function decideChallenge(
  plan: ChallengePlan,
  before: Transaction,
  reply: AuthnReply | undefined,
  { handle }: Facts,
  nowMs: number,
  { challengeLifetimeMs, publicOrigin }: ChallengeSettings,
): Decision {
  const { challenge } = plan
  const events = reply === undefined ? [] : challengeEvents(plan, before, reply)
  if (reply !== undefined) throwIfUnavailable(reply, temporarilyUnavailable, challenge.decoy ? [] : events)
  switch (plan.kind) {
    case 'recovery-state':
      return decision(challengeAnswer(before, handle, publicOrigin), before, events)
    case 'recovery-verify': {
      const recovery = { ...challenge, wrongCodes: challenge.wrongCodes + 1 }
      return decision(toRefusal(wrongCode()), { ...before, recovery }, events)
    }
    case 'recovery-resend': {
      const recovery = { ...challenge, sentAtMs: nowMs }
      const after = { ...before, expiresAtMs: nowMs + challengeLifetimeMs, recovery }
      return decision(challengeAnswer(after, handle, publicOrigin), after, events)
    }
    case 'recovery-cancel':
      return decision(cancelAnswer(before), undefined, events)
  }
}

function decision(
  outcome: StepOutcome,
  after: Transaction | undefined,
  events: readonly StepEvent[],
): Decision {
  return { outcome, after, attempt: { outcome }, events }
}

/** What Okta says about a decoy is not logged: it is about no user. */
function challengeEvents(
  { kind, operation, challenge }: ChallengePlan,
  before: Transaction,
  reply: AuthnReply,
): StepEvent[] {
  const { decoy, factorType } = challenge
  const isVerification = kind === 'recovery-verify'
  if (decoy) return isVerification ? [decoyFailed(operation, before, factorType)] : []
  if (!reply.isError) return []
  const refusal = isVerification ? stepRefused(operation, reply, before, factorType) : []
  return [upstreamError(reply), ...refusal]
}

const temporarilyUnavailable = (cause: UpstreamFailure) => upstreamTemporarilyUnavailable(1, cause)

/**
 * Throws the same error for known and unknown users. The org's own rate limit reveals nothing about
 * a user.
 */
function throwIfUnavailable(
  { status, errorCode, headers }: AuthnReply,
  unavailable: (cause: UpstreamFailure) => BrokerError,
  events: readonly StepEvent[] = [],
): void {
  if (errorOf(errorCode)?.message === 'rateLimited') {
    const limit = {
      limit: Number(headers['X-Rate-Limit-Limit'] ?? 0),
      resetAtSeconds: Number(headers['X-Rate-Limit-Reset'] ?? 0),
      retryAfterSeconds: Number(headers['Retry-After'] ?? 60),
    }
    throw new StepRefusedError(rateLimited(limit), events)
  }
  if (status >= 500) {
    // Okta may have sent the code all the same: the attempt stays counted, the cooldown goes on
    const failure = new UpstreamFailure('invalid_response', { upstreamStatus: status })
    throw new StepRefusedError(unavailable(failure), events)
  }
}
