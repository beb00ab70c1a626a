import { setTimeout as pause } from 'node:timers/promises'
import type { Signer } from '../crypto/sign.ts'
import {
  codesExhausted,
  rateLimited,
  sentRecently,
  stepNotOffered,
  temporarilyUnavailable,
  upstreamUnavailable,
  wrongCode,
} from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Store } from '../store/store.ts'
import { mayHaveArrived } from '../upstream/upstream-failure.ts'
import type { AuthnReply, AuthnUpstream } from './authn-upstream.ts'
import type { Client } from './client.ts'
import type { Exchange, Exchanged } from './exchange.ts'
import { readAnswer } from './read-answer.ts'
import { challengeBody, challengeSteps, mailBody } from './recovery-answers.ts'
import type { RecoveryBody } from './schemas.ts'
import type { StepAudit } from './step-audit.ts'
import { refusalOf, type StepAnswer } from './step-outcome.ts'
import { begin, type RecoveryChallenge, type Transaction } from './transaction.ts'

/**
 * Forgotten passwords and locked accounts, without telling who exists. With an admin token the upstream says it
 * freely, and even hands out recovery tokens for a name; so every answer until a code was right is made here, from
 * one template, no sooner than a set time. Who cannot be recovered gets a decoy transaction that nothing opens.
 */
export interface Recovery {
  start(recoveryType: RecoveryType, body: RecoveryBody, handle: string, client: Client): Promise<Exchanged>
  /** A step in a transaction whose code has not been right yet. */
  step(transaction: Transaction, handle: string, step: ChallengeStep, client: Client): Promise<Exchanged>
}

export type RecoveryType = RecoveryChallenge['recoveryType']

export interface ChallengeStep {
  /** `state` is "where am I?". */
  readonly operation: string
  readonly path: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface RecoveryParts {
  readonly upstream: AuthnUpstream
  readonly exchange: Exchange
  readonly store: Store
  /** Names in the store are HMACs. */
  readonly names: Signer
  readonly canonicalLogin: (login: string) => string
  readonly audit: StepAudit
  readonly publicOrigin: string
  /** No answer comes sooner, whoever it is about. */
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

/** The org's own limit. */
const RATE_LIMITED = 'E0000047'

const OPERATIONS = { PASSWORD: 'password', UNLOCK: 'unlock' } as const

export function createRecovery(parts: RecoveryParts): Recovery {
  const { upstream, exchange, store, names, canonicalLogin, audit, publicOrigin, log, metrics, now } = parts
  const challengeMs = parts.challengeMinutes * 60_000

  const unhurried = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const [result] = await Promise.allSettled([work(), pause(parts.answerMs)])
    if (result.status === 'rejected') throw result.reason
    return result.value
  }

  const answerOf = (body: object): StepAnswer => ({
    kind: 'answer',
    status: 200,
    body: JSON.stringify(body),
    headers: {},
    errorCode: undefined,
    sessionId: undefined,
  })

  const present = (transaction: Transaction, challenge: RecoveryChallenge, handle: string): StepAnswer =>
    answerOf(challengeBody(challenge, { handle, publicOrigin, expiresAtMs: transaction.expiresAtMs }))

  const placeOf = (username: string, factorType: string) =>
    `gatehouse:limit:recovery-sent:${names.sign(JSON.stringify([canonicalLogin(username), factorType]))}`

  /** One code in thirty seconds for a name and a way, whether there is such a person or not, begun here or sent again. */
  const onceInAWhile = async <Result>(
    { operation, factorType, login }: { operation: string; factorType: 'SMS' | 'CALL'; login: string },
    client: Client,
    send: () => Promise<Result>,
  ): Promise<Result> => {
    const place = placeOf(login, factorType)
    if (!(await store.set(place, '1', parts.resendAfterMs, 'absent'))) {
      const limit = 'recovery_sent'
      const retryAfterSeconds = Math.ceil(parts.resendAfterMs / 1000)
      metrics.limitHits.inc({ limit })
      audit.limitHit({ limit, operation, factorType, login, retryAfterSeconds }, client)
      throw sentRecently(factorType, retryAfterSeconds)
    }
    try {
      return await send()
    } catch (error) {
      if (!mayHaveArrived(error)) await store.delete(place) // nothing was sent: the next try need not wait
      throw error
    }
  }

  /** The upstream's own limit and its failures say nothing of a person: they are everybody's answer. */
  const refuseTrouble = ({ status, errorCode, headers }: AuthnReply) => {
    if (status >= 500) throw upstreamUnavailable(new Error(`status ${status}`))
    if (errorCode !== RATE_LIMITED) return
    throw rateLimited({
      limit: Number(headers['X-Rate-Limit-Limit'] ?? 0),
      resetAtSeconds: Number(headers['X-Rate-Limit-Reset'] ?? 0),
      retryAfterSeconds: Number(headers['Retry-After'] ?? 60),
    })
  }

  /** In a challenge the same trouble shows in what is sent for a person and in what is sent for nobody (`knock`). */
  const refuseAsKnocking = ({ status, errorCode }: { status: number; errorCode: string | undefined }) => {
    if (status >= 500 || errorCode === RATE_LIMITED)
      throw temporarilyUnavailable(1, new Error(`status ${status}`))
  }

  /** Sends the step where there is somebody to send it for; what is wrong with the upstream is wrong for everybody. */
  const sendOrKnock = async (
    { stateToken }: Transaction,
    { decoy }: RecoveryChallenge,
    path: string,
    client: Client,
  ) => {
    if (decoy) return upstream.knock(client)
    const reply = await upstream.send({ path, body: { stateToken }, bearsToken: true }, client)
    if (reply.isError) audit.upstreamError(reply, client)
    refuseAsKnocking(reply)
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

  const wrong = (transaction: Transaction, challenge: RecoveryChallenge): Exchanged => ({
    outcome: refusalOf(wrongCode()),
    after: { ...transaction, recovery: { ...challenge, wrongCodes: challenge.wrongCodes + 1 } },
  })

  const verify = async (
    transaction: Transaction,
    challenge: RecoveryChallenge,
    handle: string,
    { operation, path, fields }: ChallengeStep,
    client: Client,
  ): Promise<Exchanged> => {
    if (challenge.wrongCodes >= parts.maxWrongCodes) throw codesExhausted()
    if (challenge.decoy) {
      await upstream.knock(client)
      audit.decoyFailed(operation, transaction, challenge.factorType, client)
      return wrong(transaction, challenge)
    }
    const call = { path, body: { stateToken: transaction.stateToken, ...fields }, bearsToken: true }
    const { outcome, after, ...rest } = await exchange(
      transaction,
      handle,
      { operation, call, proof: undefined, factorType: challenge.factorType },
      client,
    )
    if (outcome.kind === 'refusal') return { outcome, after, ...rest }
    refuseAsKnocking(outcome)
    return outcome.status >= 400 ? wrong(transaction, challenge) : { outcome, after, ...rest }
  }

  const resend = async (
    transaction: Transaction,
    challenge: RecoveryChallenge,
    handle: string,
    { operation, path }: ChallengeStep,
    client: Client,
  ): Promise<Exchanged> => {
    const { factorType } = challenge
    const waitMs = challenge.sentAtMs + parts.resendAfterMs - now()
    if (waitMs > 0) throw sentRecently(factorType, Math.ceil(waitMs / 1000))
    const login = transaction.login ?? ''
    await onceInAWhile({ operation, factorType, login }, client, () =>
      sendOrKnock(transaction, challenge, path, client),
    )
    const sent = { ...challenge, sentAtMs: now() }
    const after = { ...transaction, recovery: sent }
    return { outcome: present(after, sent, handle), after }
  }

  const cancel = async (
    transaction: Transaction,
    challenge: RecoveryChallenge,
    { path }: ChallengeStep,
    client: Client,
  ): Promise<Exchanged> => {
    await sendOrKnock(transaction, challenge, path, client)
    const { relayState } = challenge
    return { outcome: answerOf(relayState === undefined ? {} : { relayState }), after: undefined }
  }

  const begun = async (recoveryType: RecoveryType, body: object, client: Client): Promise<AuthnReply> => {
    const reply = await upstream.send(
      { path: PATHS[recoveryType], body: { ...body }, bearsToken: false },
      client,
    )
    refuseTrouble(reply)
    return reply
  }

  return {
    start: (recoveryType, body, handle, client) =>
      unhurried(async () => {
        const { username, factorType } = body
        const relayState = body.relayState ?? undefined
        const operation = OPERATIONS[recoveryType]
        const sent = { username, factorType, ...(relayState === undefined ? {} : { relayState }) }
        const send = () => {
          audit.recoveryStarted({ operation, factorType }, username, client)
          return begun(recoveryType, sent, client)
        }
        const reply =
          factorType === 'EMAIL'
            ? await send()
            : await onceInAWhile({ operation, factorType, login: username }, client, send)
        const stateToken = stateTokenOf(reply, client)
        if (factorType === 'EMAIL')
          return { outcome: answerOf(mailBody(recoveryType, relayState)), after: undefined }

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
          stateToken: stateToken ?? '',
          status: 'RECOVERY_CHALLENGE',
          offered: challengeSteps(factorType),
          expiresAtMs: sentAtMs + challengeMs,
          recovery: challenge,
        }
        return { outcome: present(after, challenge, handle), after }
      }),

    async step(transaction, handle, step, client) {
      const challenge = transaction.recovery
      if (challenge === undefined) throw stepNotOffered()
      // nothing is sent, for nobody: there is nothing to tell apart
      if (step.operation === 'state')
        return { outcome: present(transaction, challenge, handle), after: transaction }
      return unhurried(() => {
        switch (step.operation) {
          case 'recovery_verify':
            return verify(transaction, challenge, handle, step, client)
          case 'recovery_resend':
            return resend(transaction, challenge, handle, step, client)
          case 'cancel':
            return cancel(transaction, challenge, step, client)
          default:
            throw stepNotOffered()
        }
      })
    },
  }
}
