import { randomBytes } from 'node:crypto'
import type { Signer } from '../../crypto/sign.ts'
import { rateLimited, stepNotOffered, upstreamUnavailable } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { Exchange } from '../sign-in/exchange.ts'
import type { RecoveryBody } from '../sign-in/schemas.ts'
import type { Exchanged } from '../transaction/exchanged.ts'
import { begin, type RecoveryChallenge, type Transaction } from '../transaction/transaction.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import { type AuthnReply, readAnswer } from '../upstream/read-answer.ts'
import { answerOf, challengeSteps, mailBody, presentChallenge } from './recovery-answers.ts'
import { type ChallengeStep, createTakeChallengeStep, ORG_LIMIT } from './recovery-challenge.ts'
import { createRecoveryLifetime } from './recovery-lifetime.ts'
import { createRecoveryPause } from './recovery-pause.ts'
import { createUnhurried } from './unhurried.ts'

/**
 * Forgotten passwords and locked accounts, without telling who exists. With an admin token the upstream says it
 * freely, and even hands out recovery tokens for a name; so every answer until a code was right is made here, from
 * one template, and where the upstream is asked no sooner than a set time. Who cannot be recovered gets a decoy
 * transaction that nothing opens.
 */
export interface Recovery {
  start(recoveryType: RecoveryType, body: RecoveryBody, handle: string, client: Client): Promise<Exchanged>
  /** A step in a transaction whose code has not been right yet. */
  step(transaction: Transaction, handle: string, step: ChallengeStep, client: Client): Promise<Exchanged>
}

export type RecoveryType = RecoveryChallenge['recoveryType']

export interface RecoveryParts {
  readonly upstream: AuthnUpstream
  readonly exchange: Exchange
  readonly store: Store
  /** Names in the store are HMACs. */
  readonly names: Signer
  readonly canonicalLogin: (login: string) => string
  readonly audit: StepAudit
  readonly publicOrigin: string
  /** No answer for which the upstream is asked comes sooner, whoever it is about. */
  readonly answerMs: number
  readonly challengeMinutes: number
  readonly resendAfterMs: number
  readonly maxWrongCodes: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

const PATHS = {
  PASSWORD: '/api/v1/authn/recovery/password',
  UNLOCK: '/api/v1/authn/recovery/unlock',
} as const

const OPERATIONS = { PASSWORD: 'password', UNLOCK: 'unlock' } as const

/** A decoy's steps meet what a real one's would: the org looks at them, and finds that nobody has this token. */
const madeUpToken = () => `00${randomBytes(30).toString('base64url')}`

export function createRecovery(parts: RecoveryParts): Recovery {
  const { upstream, audit, publicOrigin, log, metrics, now } = parts
  const pauseAfter = createRecoveryPause(parts)
  const lifetime = createRecoveryLifetime({ ...parts, configuredMs: parts.challengeMinutes * 60_000 })
  const unhurried = createUnhurried(parts.answerMs)
  const takeStep = createTakeChallengeStep({ ...parts, lifetime, pauseAfter, unhurried })

  /** The upstream's own limit and its failures say nothing of a person: they are everybody's answer. */
  const refuseTrouble = ({ status, errorCode, headers }: AuthnReply) => {
    if (status >= 500)
      throw upstreamUnavailable(new DependencyFailure('unusable', { upstreamStatus: status }))
    if (errorCode !== ORG_LIMIT) return
    throw rateLimited({
      limit: Number(headers['X-Rate-Limit-Limit'] ?? 0),
      resetAtSeconds: Number(headers['X-Rate-Limit-Reset'] ?? 0),
      retryAfterSeconds: Number(headers['Retry-After'] ?? 60),
    })
  }

  /** The state token when a code was really sent; undefined: nobody may know that it was not. */
  const stateTokenOf = (reply: AuthnReply, client: Client): string | undefined => {
    if (reply.isError) {
      log.info('recovery_refused', { requestId: client.requestId, upstreamErrorCode: reply.errorCode })
      return undefined
    }
    if ('recoveryToken' in reply.body) {
      metrics.tokensCut.inc({ by: 'recovery' })
      log.error('recovery_token_dropped', { requestId: client.requestId })
      return undefined
    }
    const answer = readAnswer(reply.body)
    return answer.status === 'RECOVERY_CHALLENGE' ? answer.stateToken : undefined
  }

  const begun = async (
    recoveryType: RecoveryType,
    body: RecoveryBody,
    client: Client,
  ): Promise<AuthnReply> => {
    const reply = await upstream.send(
      { path: PATHS[recoveryType], body: { ...body }, bearsToken: false },
      client,
    )
    refuseTrouble(reply)
    return reply
  }

  return {
    async start(recoveryType, body, handle, client) {
      const { username, factorType, relayState } = body
      const operation = OPERATIONS[recoveryType]
      const send = () => {
        audit.recoveryStarted({ operation, factorType }, username, client)
        return begun(recoveryType, body, client)
      }
      if (factorType === 'EMAIL') {
        const reply = await unhurried(send)
        stateTokenOf(reply, client) // raises the alarm if a recovery token came back
        return { outcome: answerOf(mailBody(recoveryType, relayState)), after: undefined }
      }
      const promisedMs = await lifetime.promisedMs()
      const sendCode = await pauseAfter({ operation, factorType, login: username }, client)
      return unhurried(async () => {
        const reply = await sendCode(send)
        const stateToken = stateTokenOf(reply, client)
        const lifetimeMs = await lifetime.withinMs(promisedMs, stateToken === undefined ? undefined : reply)
        const sentAtMs = now()
        const challenge = {
          decoy: stateToken === undefined,
          factorType,
          recoveryType,
          relayState,
          sentAtMs,
          wrongCodes: 0,
        }
        const after: Transaction = {
          ...begin(client.device.id, username, sentAtMs),
          stateToken: stateToken ?? madeUpToken(),
          status: 'RECOVERY_CHALLENGE',
          offered: challengeSteps(factorType),
          expiresAtMs: sentAtMs + lifetimeMs,
          recovery: challenge,
        }
        return { outcome: presentChallenge(after, challenge, handle, publicOrigin), after }
      })
    },

    async step(transaction, handle, step, client) {
      const challenge = transaction.recovery
      if (challenge === undefined) throw stepNotOffered()
      // nothing is sent, for nobody: there is nothing to tell apart
      if (step.operation === 'state')
        return { outcome: presentChallenge(transaction, challenge, handle, publicOrigin), after: transaction }
      return takeStep({ transaction, challenge, handle }, step, client)
    },
  }
}
