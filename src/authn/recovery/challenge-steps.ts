import {
  codesExhausted,
  sentRecently,
  stepNotOffered,
  upstreamTemporarilyUnavailable,
  wrongCode,
} from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { SendStep } from '../sign-in/send-step.ts'
import { type StepResult, toRefusal } from '../transaction/step-result.ts'
import type { RecoveryChallenge, Transaction } from '../transaction/transaction.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import type { AuthnReply } from '../upstream/read-answer.ts'
import type { CodeCooldown } from './code-cooldown.ts'
import { withMinDuration } from './min-duration.ts'
import type { RecoveryLifetime } from './recovery-lifetime.ts'
import { cancelAnswer, challengeAnswer } from './recovery-template.ts'

/**
 * The steps while a recovery code is awaited: alike for a user and for a decoy, failures of Okta included. A step that the
 * broker's own record refuses is refused at once; every other one takes its time.
 */
export type TakeChallengeStep = (
  challenged: Challenged,
  step: ChallengeStep,
  client: Client,
) => Promise<StepResult>

export interface Challenged {
  readonly transaction: Transaction
  readonly challenge: RecoveryChallenge
  readonly handle: string
}

export interface ChallengeStep {
  /** `state`: only how the sign-in stands. */
  readonly operation: string
  readonly path: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface ChallengeStepsDeps {
  readonly upstream: Pick<AuthnUpstream, 'send'>
  readonly sendStep: SendStep
  readonly lifetime: RecoveryLifetime
  readonly startCooldown: CodeCooldown
  readonly audit: StepAudit
  readonly publicOrigin: string
  readonly answerMs: number
  readonly resendAfterMs: number
  readonly maxWrongCodes: number
  readonly now: () => number
}

/** The code of the org's own rate limit. */
export const ORG_LIMIT = 'E0000047'

export function createChallengeSteps(deps: ChallengeStepsDeps): TakeChallengeStep {
  return async (challenged, step, client) => {
    switch (step.operation) {
      case 'recovery_verify':
        if (challenged.challenge.wrongCodes >= deps.maxWrongCodes) throw codesExhausted()
        return withMinDuration(deps.answerMs, () => verify(challenged, step, client, deps))
      case 'recovery_resend':
        return resend(challenged, step, client, deps)
      case 'cancel':
        return withMinDuration(deps.answerMs, async () => {
          await send(challenged, { ...step, fields: {} }, client, deps)
          return { outcome: cancelAnswer(challenged.challenge), after: undefined }
        })
      default:
        throw stepNotOffered()
    }
  }
}

async function verify(
  challenged: Challenged,
  step: ChallengeStep,
  client: Client,
  deps: ChallengeStepsDeps,
): Promise<StepResult> {
  const { transaction, challenge, handle } = challenged
  const { operation, path, fields } = step
  const { factorType } = challenge
  if (challenge.decoy) {
    await send(challenged, step, client, deps)
    deps.audit.decoyFailed(operation, transaction, factorType, client)
    return wrong(challenged)
  }
  const call = { path, body: { stateToken: transaction.stateToken, ...fields }, bearsToken: true }
  const verifying = { operation, call, proof: undefined, factorType }
  const result = await deps.sendStep(transaction, handle, verifying, client)
  if (result.outcome.kind === 'refusal') return result
  refuseTrouble(result.outcome)
  return result.outcome.status >= 400 ? wrong(challenged) : result
}

function wrong({ transaction, challenge }: Challenged): StepResult {
  const recovery = { ...challenge, wrongCodes: challenge.wrongCodes + 1 }
  return { outcome: toRefusal(wrongCode()), after: { ...transaction, recovery } }
}

async function resend(
  challenged: Challenged,
  step: ChallengeStep,
  client: Client,
  deps: ChallengeStepsDeps,
): Promise<StepResult> {
  const { transaction, challenge, handle } = challenged
  const { lifetime, startCooldown, publicOrigin, now } = deps
  const { factorType } = challenge
  const waitMs = challenge.sentAtMs + deps.resendAfterMs - now()
  if (waitMs > 0) throw sentRecently(factorType, Math.ceil(waitMs / 1000))
  const advertisedMs = await lifetime.advertisedMs()
  const code = { operation: step.operation, factorType, login: transaction.login ?? '' }
  const sendCode = await startCooldown(code, client)
  return withMinDuration(deps.answerMs, async () => {
    const reply = await sendCode(() => send(challenged, { ...step, fields: {} }, client, deps))
    const lifetimeMs = await lifetime.adjustMs(advertisedMs, reply)
    const recovery = { ...challenge, sentAtMs: now() }
    const after = { ...transaction, expiresAtMs: recovery.sentAtMs + lifetimeMs, recovery }
    return { outcome: challengeAnswer(after, handle, publicOrigin), after }
  })
}

/** A decoy's step goes to the same place, with a token that nobody has. undefined: Okta did not accept it. */
async function send(
  { transaction: { stateToken }, challenge: { decoy } }: Challenged,
  { path, fields }: ChallengeStep,
  client: Client,
  { upstream, audit }: ChallengeStepsDeps,
): Promise<AuthnReply | undefined> {
  const call = { path, body: { stateToken, ...fields }, bearsToken: true, isDecoy: decoy }
  const reply = await upstream.send(call, client)
  if (reply.isError && !decoy) audit.upstreamError(reply, client)
  refuseTrouble(reply)
  return reply.isError ? undefined : reply
}

/** Failures of Okta are answered to everybody alike. */
function refuseTrouble({ status, errorCode }: { status: number; errorCode?: string | undefined }): void {
  if (status >= 500 || errorCode === ORG_LIMIT)
    throw upstreamTemporarilyUnavailable(
      1,
      new DependencyFailure('invalid_response', { upstreamStatus: status }),
    )
}
