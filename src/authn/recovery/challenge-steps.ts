import { setTimeout as pause } from 'node:timers/promises'
import {
  rateLimited,
  sentRecently,
  stepNotOffered,
  tooManyWrongCodes,
  upstreamTemporarilyUnavailable,
  wrongCode,
} from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import { errorOf } from '../../okta-errors.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { SendStep } from '../sign-in/send-step.ts'
import { type StepResult, toRefusal } from '../transaction/step-result.ts'
import type { RecoveryChallenge, Transaction } from '../transaction/transaction.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import type { AuthnReply } from '../upstream/read-answer.ts'
import type { CodeCooldown } from './code-cooldown.ts'
import { cancelAnswer, challengeAnswer } from './recovery-template.ts'

export interface ChallengedTransaction {
  readonly transaction: Transaction
  readonly challenge: RecoveryChallenge
  readonly handle: string
}

export interface ChallengeStep {
  readonly operation: string
  readonly path: string
  /** Whether its call to Okta carries the API token. */
  readonly carriesApiToken: boolean
  readonly fields: Readonly<Record<string, unknown>>
}

export interface ChallengeStepsDeps {
  readonly upstream: Pick<AuthnUpstream, 'send'>
  readonly sendStep: SendStep
  /** Of a challenge, the same for known and unknown users: Okta states its own only for known ones. */
  readonly lifetimeMs: number
  readonly startCooldown: CodeCooldown
  readonly audit: StepAudit
  readonly publicOrigin: string
  /** The minimum duration of requests for which Okta is called. */
  readonly answerMs: number
  readonly resendAfterMs: number
  readonly maxWrongCodes: number
  readonly now: () => number
}

/**
 * The steps while a recovery code is awaited. A user and a decoy get the same answers, also when Okta fails. A step
 * that the broker refuses by its own record is refused at once; every other step takes the minimum duration.
 */
export function createChallengeSteps(deps: ChallengeStepsDeps) {
  return async (current: ChallengedTransaction, step: ChallengeStep, client: Client): Promise<StepResult> => {
    switch (step.operation) {
      case 'recovery_verify':
        if (current.challenge.wrongCodes >= deps.maxWrongCodes) throw tooManyWrongCodes()
        return withMinDuration(deps.answerMs, () => verify(current, step, client, deps))
      case 'recovery_resend':
        return resend(current, step, client, deps)
      case 'cancel':
        return withMinDuration(deps.answerMs, async () => {
          await send(current, { ...step, fields: {} }, client, deps)
          return { outcome: cancelAnswer(current.transaction), after: undefined }
        })
      default:
        throw stepNotOffered()
    }
  }
}

async function verify(
  current: ChallengedTransaction,
  step: ChallengeStep,
  client: Client,
  deps: ChallengeStepsDeps,
): Promise<StepResult> {
  const { transaction, challenge, handle } = current
  const { operation, path, carriesApiToken, fields } = step
  const { factorType } = challenge
  if (challenge.decoy) {
    await send(current, step, client, deps)
    deps.audit.decoyFailed(operation, transaction, factorType, client)
    return rejectCode(current)
  }
  const body = { stateToken: transaction.stateToken, ...fields }
  const call = { path, body, bearsToken: true, carriesApiToken }
  const verifying = { operation, call, proof: undefined, factorType }
  const result = await deps.sendStep(transaction, handle, verifying, client)
  if (result.outcome.kind === 'refusal') return result
  throwIfUnavailable(result.outcome)
  return result.outcome.status >= 400 ? rejectCode(current) : result
}

function rejectCode({ transaction, challenge }: ChallengedTransaction): StepResult {
  const recovery = { ...challenge, wrongCodes: challenge.wrongCodes + 1 }
  return { outcome: toRefusal(wrongCode()), after: { ...transaction, recovery } }
}

async function resend(
  current: ChallengedTransaction,
  step: ChallengeStep,
  client: Client,
  deps: ChallengeStepsDeps,
): Promise<StepResult> {
  const { transaction, challenge, handle } = current
  const { lifetimeMs, startCooldown, publicOrigin, now } = deps
  const { factorType } = challenge
  const waitMs = challenge.sentAtMs + deps.resendAfterMs - now()
  if (waitMs > 0) throw sentRecently(factorType, Math.ceil(waitMs / 1000))
  const code = { operation: step.operation, factorType, login: transaction.login ?? '' }
  const sendCode = await startCooldown(code, client)
  return withMinDuration(deps.answerMs, async () => {
    await sendCode(() => send(current, { ...step, fields: {} }, client, deps))
    const recovery = { ...challenge, sentAtMs: now() }
    const after = { ...transaction, expiresAtMs: recovery.sentAtMs + lifetimeMs, recovery }
    return { outcome: challengeAnswer(after, handle, publicOrigin), after }
  })
}

/** A decoy's step goes to the same path with a random token. undefined: Okta did not accept the step. */
async function send(
  { transaction: { stateToken }, challenge: { decoy } }: ChallengedTransaction,
  { path, carriesApiToken, fields }: ChallengeStep,
  client: Client,
  { upstream, audit }: ChallengeStepsDeps,
): Promise<AuthnReply | undefined> {
  const call = { path, body: { stateToken, ...fields }, bearsToken: true, carriesApiToken }
  const reply = await upstream.send(call, client)
  if (reply.isError && !decoy) audit.upstreamError(reply, client)
  throwIfUnavailable(reply)
  return reply.isError ? undefined : reply
}

type AnsweredCall = Pick<AuthnReply, 'status' | 'headers'> & { readonly errorCode?: string | undefined }

/** Throws the same error for known and unknown users. */
function throwIfUnavailable(reply: AnsweredCall): void {
  throwIfRateLimited(reply)
  const { status } = reply
  if (status >= 500)
    throw upstreamTemporarilyUnavailable(
      1,
      new DependencyFailure('invalid_response', { upstreamStatus: status }),
    )
}

/** The org's own rate limit reveals nothing about a user. */
export function throwIfRateLimited({ errorCode, headers }: AnsweredCall): void {
  if (errorOf(errorCode)?.message !== 'rateLimited') return
  throw rateLimited({
    limit: Number(headers['X-Rate-Limit-Limit'] ?? 0),
    resetAtSeconds: Number(headers['X-Rate-Limit-Reset'] ?? 0),
    retryAfterSeconds: Number(headers['Retry-After'] ?? 60),
  })
}

/**
 * Does work whose duration could reveal whether a user exists, such as a call to Okta. Its result or error is returned
 * no sooner than `answerMs`. Not for answers from the broker's own record alone: waiting requests count as in flight
 * (`limitRequestsInFlight`).
 */
export async function withMinDuration<T>(answerMs: number, work: () => Promise<T>): Promise<T> {
  const [result] = await Promise.allSettled([work(), pause(answerMs)])
  if (result.status === 'rejected') throw result.reason
  return result.value
}
