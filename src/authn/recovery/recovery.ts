import { randomBytes } from 'node:crypto'
import { stepNotOffered, upstreamUnavailable } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { RecoveryBody } from '../sign-in/schemas.ts'
import type { StepResult } from '../transaction/step-result.ts'
import { createTransaction, type RecoveryChallenge, type Transaction } from '../transaction/transaction.ts'
import { type AuthnReply, readAnswer } from '../upstream/read-answer.ts'
import {
  type ChallengeStep,
  type ChallengeStepsDeps,
  createChallengeSteps,
  throwIfRateLimited,
  withMinDuration,
} from './challenge-steps.ts'
import { type CodeCooldownDeps, createCodeCooldown } from './code-cooldown.ts'
import { challengeAnswer, challengeSteps, emailAnswer } from './recovery-template.ts'

/**
 * Forgotten passwords and locked accounts, without revealing which users exist. To an API token, Okta reveals that, and
 * even returns recovery tokens for a login. So the broker makes every answer before a correct code from one template,
 * and returns answers of calls to Okta no sooner than `answerMs`. A user who does not exist or cannot recover gets a
 * decoy transaction, in which no code works.
 */
export interface Recovery {
  start(recoveryType: RecoveryType, body: RecoveryBody, handle: string, client: Client): Promise<StepResult>
  /** A step in a transaction that awaits a recovery code. */
  step(transaction: Transaction, handle: string, step: ChallengeStep, client: Client): Promise<StepResult>
}

export type RecoveryType = RecoveryChallenge['recoveryType']

export interface RecoveryDeps extends Omit<ChallengeStepsDeps, 'startCooldown'>, CodeCooldownDeps {
  readonly audit: StepAudit
  readonly log: Logger
  readonly metrics: Metrics
}

const START = {
  PASSWORD: { operation: 'password', path: '/api/v1/authn/recovery/password' },
  UNLOCK: { operation: 'unlock', path: '/api/v1/authn/recovery/unlock' },
} as const

export function createRecovery(deps: RecoveryDeps): Recovery {
  const { audit, publicOrigin, answerMs, lifetimeMs, now } = deps
  const startCooldown = createCodeCooldown(deps)
  const takeChallengeStep = createChallengeSteps({ ...deps, startCooldown })

  return {
    async start(recoveryType, body, handle, client) {
      const { username: login, factorType, relayState } = body
      const { operation } = START[recoveryType]
      const send = () => {
        audit.recoveryStarted({ operation, factorType }, login, client)
        return sendStart(recoveryType, body, client, deps)
      }
      if (factorType === 'EMAIL') {
        const reply = await withMinDuration(answerMs, send)
        stateTokenIn(reply, client, deps) // reports a recovery token, if any
        return { outcome: emailAnswer(recoveryType, relayState), after: undefined }
      }
      const sendCode = await startCooldown({ operation, factorType, login }, client)
      return withMinDuration(answerMs, async () => {
        const reply = await sendCode(send)
        const stateToken = stateTokenIn(reply, client, deps)
        const challenge = { factorType, recoveryType, relayState, sentAtMs: now() }
        const after = createChallengeTransaction(challenge, { login, stateToken, lifetimeMs }, client)
        return { outcome: challengeAnswer(after, handle, publicOrigin), after }
      })
    },

    async step(transaction, handle, step, client) {
      const challenge = transaction.recovery
      if (challenge === undefined) throw stepNotOffered()
      if (step.operation === 'state')
        return { outcome: challengeAnswer(transaction, handle, publicOrigin), after: transaction }
      return takeChallengeStep({ transaction, challenge, handle }, step, client)
    },
  }
}

/** Throws for Okta's rate limit and failures, which reveal nothing about a user. */
async function sendStart(
  recoveryType: RecoveryType,
  body: RecoveryBody,
  client: Client,
  { upstream }: Pick<RecoveryDeps, 'upstream'>,
): Promise<AuthnReply> {
  const { path } = START[recoveryType]
  const reply = await upstream.send({ path, body: { ...body }, bearsToken: false }, client)
  const { status } = reply
  if (status >= 500)
    throw upstreamUnavailable(new DependencyFailure('invalid_response', { upstreamStatus: status }))
  throwIfRateLimited(reply)
  return reply
}

/** The state token if Okta sent a code. undefined is not shown to the browser: the transaction becomes a decoy. */
function stateTokenIn(
  reply: AuthnReply,
  { requestId }: Client,
  { log, metrics }: Pick<RecoveryDeps, 'log' | 'metrics'>,
): string | undefined {
  if (reply.isError) {
    metrics.recoveriesRefused.inc({ code: reply.errorCode ?? 'other' })
    log.info('recovery_refused', { requestId, upstreamErrorCode: reply.errorCode })
    return undefined
  }
  if ('recoveryToken' in reply.body) {
    metrics.tokenLeaksBlocked.inc({ found_in: 'recovery' })
    log.error('recovery_token_dropped', { requestId })
    return undefined
  }
  const answer = readAnswer(reply.body)
  return answer.status === 'RECOVERY_CHALLENGE' ? answer.stateToken : undefined
}

function createChallengeTransaction(
  challenge: Omit<RecoveryChallenge, 'decoy' | 'wrongCodes'>,
  { login, stateToken, lifetimeMs }: { login: string; stateToken: string | undefined; lifetimeMs: number },
  client: Client,
): Transaction {
  return {
    ...createTransaction(client.device.id, login, challenge.sentAtMs),
    // a decoy's steps are sent to Okta too, so its token is random and unknown there
    stateToken: stateToken ?? `00${randomBytes(30).toString('base64url')}`,
    status: 'RECOVERY_CHALLENGE',
    offered: challengeSteps(challenge.factorType),
    expiresAtMs: challenge.sentAtMs + lifetimeMs,
    recovery: { ...challenge, decoy: stateToken === undefined, wrongCodes: 0 },
  }
}
