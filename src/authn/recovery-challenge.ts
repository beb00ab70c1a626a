import { codesExhausted, sentRecently, stepNotOffered, upstreamHeldBack, wrongCode } from '../errors.ts'
import type { AuthnReply } from './authn-reply.ts'
import type { AuthnUpstream } from './authn-upstream.ts'
import type { Client } from './client.ts'
import type { Exchange, Exchanged } from './exchange.ts'
import { answerOf, presentChallenge } from './recovery-answers.ts'
import type { RecoveryLifetime } from './recovery-lifetime.ts'
import type { RecoveryPause } from './recovery-pause.ts'
import type { StepAudit } from './step-audit.ts'
import { refusalOf } from './step-outcome.ts'
import type { RecoveryChallenge, Transaction } from './transaction.ts'
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
  readonly upstream: Pick<AuthnUpstream, 'send' | 'knock'>
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

  /** In a challenge the same trouble shows in what is sent for a person and in what is sent for nobody (`knock`). */
  const refuseAsKnocking = ({ status, errorCode }: { status: number; errorCode: string | undefined }) => {
    if (status >= 500 || errorCode === ORG_LIMIT) throw upstreamHeldBack(1, new Error(`status ${status}`))
  }

  /** Sends the step for a known user; a fault of the upstream is answered to everybody alike. Gives an accepted answer. */
  const sendOrKnock = async (
    { stateToken }: Transaction,
    { decoy }: RecoveryChallenge,
    path: string,
    client: Client,
  ): Promise<AuthnReply | undefined> => {
    if (decoy) {
      await upstream.knock(client)
      return undefined
    }
    const reply = await upstream.send({ path, body: { stateToken }, bearsToken: true }, client)
    if (reply.isError) audit.upstreamError(reply, client)
    refuseAsKnocking(reply)
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
      const reply = await sendCode(() => sendOrKnock(transaction, challenge, path, client))
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
    await sendOrKnock(transaction, challenge, path, client)
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
