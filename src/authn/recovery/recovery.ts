import { randomBytes } from 'node:crypto'
import { stepNotOffered, upstreamUnavailable } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import { carriesApiToken, ENTRY_OPERATIONS } from '../sign-in/operations.ts'
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
 * Forgotten passwords and locked accounts, without revealing which users exist. The calls carry no
 * API token: Okta would take them for an administrator's (R1), reveal who exists, and even return
 * recovery tokens for a login. Some refusals reveal it without the token too (R11, R12). So the
 * broker makes every answer before a correct code from one template, and returns answers of calls
 * to Okta no sooner than `answerMs`. A user whom Okta refuses gets a decoy transaction, in which no
 * code works.
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
  PASSWORD: { operation: 'password', at: ENTRY_OPERATIONS.recoverPassword },
  UNLOCK: { operation: 'unlock', at: ENTRY_OPERATIONS.unlockAccount },
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
        const challenge = { factorType, recoveryType, sentAtMs: now() }
        const after = createChallengeTransaction(
          challenge,
          { login, relayState, stateToken, lifetimeMs },
          client,
        )
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
  { username, factorType }: RecoveryBody,
  client: Client,
  { upstream }: Pick<RecoveryDeps, 'upstream'>,
): Promise<AuthnReply> {
  const { at } = START[recoveryType]
  const body = { username, factorType }
  const call = { path: at.path, body, bearsToken: false, carriesApiToken: carriesApiToken(at) }
  const reply = await upstream.send(call, client)
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
  {
    login,
    relayState,
    stateToken,
    lifetimeMs,
  }: {
    login: string
    relayState: string | undefined
    stateToken: string | undefined
    lifetimeMs: number
  },
  client: Client,
): Transaction {
  return {
    ...createTransaction(client.device.id, login, challenge.sentAtMs),
    // a decoy's steps are sent to Okta too, so its token is random and unknown there
    stateToken: stateToken ?? `00${randomBytes(30).toString('base64url')}`,
    status: 'RECOVERY_CHALLENGE',
    offered: challengeSteps(challenge.factorType),
    expiresAtMs: challenge.sentAtMs + lifetimeMs,
    isRecovery: true,
    relayState,
    recovery: { ...challenge, decoy: stateToken === undefined, wrongCodes: 0 },
  }
}
