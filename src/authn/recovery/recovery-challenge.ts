import { codesExhausted, sentRecently, stepNotOffered, upstreamHeldBack, wrongCode } from '../../errors.ts'
import { DependencyFailure } from '../../observability/dependency-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { Exchange } from '../sign-in/exchange.ts'
import type { Exchanged } from '../transaction/exchanged.ts'
import { refusalOf } from '../transaction/step-outcome.ts'
import type { RecoveryChallenge, Transaction } from '../transaction/transaction.ts'
import type { AuthnUpstream } from '../upstream/authn-upstream.ts'
import type { AuthnReply } from '../upstream/read-answer.ts'
import { answerOf, presentChallenge } from './recovery-answers.ts'
import type { RecoveryLifetime } from './recovery-lifetime.ts'
import type { RecoveryPause } from './recovery-pause.ts'
import type { Unhurried } from './unhurried.ts'

/**
 * What can be done while a recovery code is asked for: alike for a user and for a decoy, trouble included. A step that the
 * broker refuses by its own record alone is refused at once; every other one takes its time.
 */
export type TakeChallengeStep = (
  challenged: Challenged,
  step: ChallengeStep,
  client: Client,
) => Promise<Exchanged>

export interface Challenged {
  readonly transaction: Transaction
  readonly challenge: RecoveryChallenge
  readonly handle: string
}

export interface ChallengeStep {
  /** `state` is "where am I?". */
  readonly operation: string
  readonly path: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface ChallengeStepParts {
  readonly upstream: Pick<AuthnUpstream, 'send'>
  readonly exchange: Exchange
  readonly lifetime: RecoveryLifetime
  readonly pauseAfter: RecoveryPause
  readonly unhurried: Unhurried
  readonly audit: StepAudit
  readonly publicOrigin: string
  readonly resendAfterMs: number
  readonly maxWrongCodes: number
  readonly now: () => number
}

/** The code of the org's own limit. */
export const ORG_LIMIT = 'E0000047'

export function createTakeChallengeStep(parts: ChallengeStepParts): TakeChallengeStep {
  const { upstream, exchange, lifetime, unhurried, audit, publicOrigin, now } = parts

  /** In a challenge a fault of the upstream is answered to everybody alike. */
  const refuseTrouble = ({ status, errorCode }: { status: number; errorCode: string | undefined }) => {
    if (status >= 500 || errorCode === ORG_LIMIT)
      throw upstreamHeldBack(1, new DependencyFailure('unusable', { upstreamStatus: status }))
  }

  /** A decoy's step goes to the same place, with a token that nobody has. Gives an accepted answer. */
  const send = async (
    { stateToken }: Transaction,
    { decoy }: RecoveryChallenge,
    { path, fields }: Pick<ChallengeStep, 'path' | 'fields'>,
    client: Client,
  ): Promise<AuthnReply | undefined> => {
    const call = { path, body: { stateToken, ...fields }, bearsToken: true, isDecoy: decoy }
    const reply = await upstream.send(call, client)
    if (reply.isError && !decoy) audit.upstreamError(reply, client)
    refuseTrouble(reply)
    return reply.isError ? undefined : reply
  }

  const wrong = (transaction: Transaction, challenge: RecoveryChallenge): Exchanged => ({
    outcome: refusalOf(wrongCode()),
    after: { ...transaction, recovery: { ...challenge, wrongCodes: challenge.wrongCodes + 1 } },
  })

  const verify = async (
    { transaction, challenge, handle }: Challenged,
    { operation, path, fields }: ChallengeStep,
    client: Client,
  ): Promise<Exchanged> => {
    if (challenge.decoy) {
      await send(transaction, challenge, { path, fields }, client)
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
    refuseTrouble(outcome)
    return outcome.status >= 400 ? wrong(transaction, challenge) : { outcome, after, ...rest }
  }

  const resend = async (
    { transaction, challenge, handle }: Challenged,
    { operation, path }: ChallengeStep,
    client: Client,
  ): Promise<Exchanged> => {
    const { factorType } = challenge
    const waitMs = challenge.sentAtMs + parts.resendAfterMs - now()
    if (waitMs > 0) throw sentRecently(factorType, Math.ceil(waitMs / 1000))
    const login = transaction.login ?? ''
    const promisedMs = await lifetime.promisedMs()
    const sendCode = await parts.pauseAfter({ operation, factorType, login }, client)
    return unhurried(async () => {
      const reply = await sendCode(() => send(transaction, challenge, { path, fields: {} }, client))
      const lifetimeMs = await lifetime.withinMs(promisedMs, reply)
      const sent = { ...challenge, sentAtMs: now() }
      const after = { ...transaction, expiresAtMs: sent.sentAtMs + lifetimeMs, recovery: sent }
      return { outcome: presentChallenge(after, sent, handle, publicOrigin), after }
    })
  }

  const cancel = async (
    { transaction, challenge }: Challenged,
    { path }: ChallengeStep,
    client: Client,
  ): Promise<Exchanged> => {
    await send(transaction, challenge, { path, fields: {} }, client)
    const { relayState } = challenge
    return { outcome: answerOf(relayState === undefined ? {} : { relayState }), after: undefined }
  }

  return async (challenged, step, client) => {
    switch (step.operation) {
      case 'recovery_verify':
        if (challenged.challenge.wrongCodes >= parts.maxWrongCodes) throw codesExhausted()
        return unhurried(() => verify(challenged, step, client))
      case 'recovery_resend':
        return resend(challenged, step, client)
      case 'cancel':
        return unhurried(() => cancel(challenged, step, client))
      default:
        throw stepNotOffered()
    }
  }
}
