import { anothersSession, unknownHandle, upstreamUnavailable } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Sessions } from '../session/sessions.ts'
import { UpstreamFailure } from '../upstream/upstream-failure.ts'
import type { AuthnReply } from './authn-reply.ts'
import type { AuthnCall, AuthnUpstream } from './authn-upstream.ts'
import type { CallVolume } from './call-volume.ts'
import type { Client } from './client.ts'
import type { EarnSession } from './earned-session.ts'
import type { Offers } from './offers.ts'
import type { EndOtherSessions } from './other-sessions.ts'
import { readAnswer, record } from './read-answer.ts'
import type { StepAudit } from './step-audit.ts'
import { refusalOf, type StepAnswer, type StepOutcome } from './step-outcome.ts'
import type { ToBrowser } from './to-browser.ts'
import {
  advance,
  goesOn,
  type Lifetime,
  lifetimeMs,
  opensSession,
  type Proof,
  personChanged,
  remnantOf,
  type Transaction,
} from './transaction.ts'
import type { UnknownSteps } from './unknown-steps.ts'

/** Sends a step, and turns its answer into what the browser gets, what is kept, and a session if it is earned. */
export type Exchange = (
  before: Transaction,
  handle: string,
  sending: Sending,
  client: Client,
) => Promise<Exchanged>

/** What is sent, and what it means if the upstream takes it. */
export interface Sending {
  readonly operation: string
  readonly call: AuthnCall
  readonly proof: Proof | undefined
  readonly factorType?: string | undefined
  /** The factor in the step's path. */
  readonly factorId?: string | undefined
  /** The person asked for all other sessions to end. */
  readonly revokesSessions?: boolean | undefined
}

export interface Exchanged {
  readonly outcome: StepOutcome
  /** `before` itself: nothing changed; undefined: the transaction is over. */
  readonly after: Transaction | undefined
  /** That the upstream's answer named; undefined for an Error object and for an answer of our own. */
  readonly status?: string
  /** What that answer said of a factor that is not done. */
  readonly factorResult?: string | undefined
  /** The upstream waits for the person, who has been asked on another device. */
  readonly waits?: boolean
  /** Opens the session that was earned, beside the step's settlement. */
  readonly alongside?: () => Promise<void>
  /** Older sessions give way, once all of that is written. */
  readonly settled?: () => Promise<void>
  /** Ends the session that was opened, when not all of it could be written, or too late. */
  readonly undo?: () => Promise<void>
}

export interface ExchangeParts {
  readonly upstream: AuthnUpstream
  readonly sessions: Pick<Sessions, 'ownerOf'>
  readonly endOtherSessions: EndOtherSessions
  readonly earnSession: EarnSession
  readonly offers: Offers
  readonly audit: StepAudit
  readonly volume: CallVolume
  readonly unknownSteps: UnknownSteps
  readonly toBrowser: ToBrowser
  readonly lifetime: Lifetime
  readonly maxOfferedSteps: number
  /** How long a redirect of a finished transaction can be used. */
  readonly remnantMs: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

export function createExchange(parts: ExchangeParts): Exchange {
  const {
    upstream,
    sessions,
    endOtherSessions,
    earnSession,
    offers,
    audit,
    volume,
    unknownSteps,
    toBrowser,
    log,
    metrics,
    now,
  } = parts

  const isSomebodyElses = async (sessionId: string | undefined, userId: string | undefined) => {
    const owner =
      sessionId === undefined || userId === undefined ? undefined : await sessions.ownerOf(sessionId)
    return owner !== undefined && owner !== userId
  }

  return async (before, handle, sending, client) => {
    const { operation, factorType } = sending
    // anybody may begin a recovery for a name, and use up what its person may send; it has limits of its own
    if (before.recovery === undefined) volume.spend({ ...before, handle }, operation, client)
    const reply = await upstream.send(sending.call, client)
    const { body, offered, noneLeft } = toBrowser(reply.body, { before, handle }, client)
    const { status, headers, errorCode } = reply
    const outcome: StepAnswer = { kind: 'answer', status, body, headers, errorCode, sessionId: undefined }

    if (reply.isError) {
      audit.upstreamError(reply, client)
      audit.refused(operation, reply, before, client, factorType)
      return { outcome, after: stateIsGone(reply) ? undefined : before }
    }

    const answer = readAnswer(reply.body)
    if (answer.status === '' && operation !== 'cancel') {
      throw upstreamUnavailable(new UpstreamFailure('unusable', { code: 'no status' }))
    }
    if (personChanged(before, answer)) {
      log.error('person_changed', { requestId: client.requestId, operation })
      throw upstreamUnavailable(new Error('the answer is about another person'))
    }
    if (before.origin === 'imported' && (await isSomebodyElses(client.sessionId, answer.user?.id))) {
      metrics.refusals.inc({ reason: 'another_persons_step_up' })
      log.warn('another_persons_step_up', { requestId: client.requestId })
      return { outcome: refusalOf(anothersSession()), after: undefined }
    }
    unknownSteps.note(reply.body, client.requestId)
    if (noneLeft) {
      metrics.refusals.inc({ reason: 'every_factor_hidden' })
      log.warn('every_factor_hidden', { requestId: client.requestId, operation })
    }
    const ttlMs = lifetimeMs(answer.expiresAt, reply.date, parts.lifetime, now())
    const after = advance(before, answer, {
      offered,
      proof: sending.proof,
      factorId: sending.factorId,
      expiresAtMs: now() + ttlMs,
      maxOffered: parts.maxOfferedSteps,
    })
    await offers.keep(client.device.id, offered, [after.stateToken, ...after.retiredTokens], ttlMs)
    audit.answered(operation, answer, { before, after }, client, factorType)
    const kept = goesOn(after) ? after : remnantOf(after, offered, now() + parts.remnantMs)

    // before the step is settled, which may fail: the password has changed all the same
    if (sending.revokesSessions === true) await endOtherSessions(after, client)
    const { status: answered, factorResult } = answer
    if (!opensSession(after, answer)) {
      const waits = factorResult === 'WAITING'
      return { outcome, after: kept, status: answered, factorResult, waits }
    }
    const earned = earnSession({ answer, after, body }, client)
    const { sessionId, sessionToken } = earned
    return {
      outcome: {
        ...outcome,
        body: sessionToken === undefined ? body : withMember(body, { sessionToken }),
        sessionId,
      },
      after: kept,
      status: answered,
      alongside: earned.write,
      settled: earned.settled,
      undo: earned.undo,
    }
  }
}

/** Adds to what is already serialized and guarded. */
function withMember(body: string, member: object): string {
  return JSON.stringify({ ...record(JSON.parse(body)), ...member })
}

/** The upstream no longer knows the state token: the transaction is over. */
function stateIsGone({ status, errorCode }: AuthnReply): boolean {
  return status === 401 && errorCode === unknownHandle().code
}
