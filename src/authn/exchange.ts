import { anothersSession, unknownHandle, upstreamUnavailable } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Sessions } from '../session/sessions.ts'
import type { AuthnCall, AuthnReply, AuthnUpstream } from './authn-upstream.ts'
import type { Client } from './client.ts'
import type { EarnSession } from './earned-session.ts'
import { type HiddenFactors, withoutHidden } from './hidden-factors.ts'
import { rewriteAnswer } from './links.ts'
import type { Offers } from './offers.ts'
import { readAnswer, record } from './read-answer.ts'
import type { StepAudit } from './step-audit.ts'
import { refusalOf, type StepAnswer, type StepOutcome } from './step-outcome.ts'
import { cutTokens } from './tokens.ts'
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
  /** Ends other sessions, once all of that is written. */
  readonly settled?: () => Promise<void>
  /** Ends the session that was opened, when not all of it could be written, or too late. */
  readonly undo?: () => Promise<void>
}

export interface ExchangeParts {
  readonly upstream: AuthnUpstream
  readonly sessions: Pick<Sessions, 'endAllOf' | 'ownerOf'>
  readonly earnSession: EarnSession
  readonly offers: Offers
  readonly audit: StepAudit
  readonly unknownSteps: UnknownSteps
  readonly upstreamOrigins: readonly [string, ...string[]]
  readonly publicOrigin: string
  /** Secrets that must never be in an answer, whatever the upstream does. */
  readonly ownSecrets: () => readonly string[]
  readonly hiddenFactors: HiddenFactors
  readonly lifetime: Lifetime
  readonly maxOfferedSteps: number
  /** How long a redirect of a finished transaction can be used. */
  readonly remnantMs: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

export function createExchange(parts: ExchangeParts): Exchange {
  const { upstream, sessions, earnSession, offers, audit, unknownSteps, log, metrics, now } = parts

  /** The last guard, over what is really sent. */
  const guarded = (body: unknown, tokens: readonly string[], client: Client): string => {
    const { text, cut } = cutTokens(JSON.stringify(body), [...tokens, ...parts.ownSecrets()])
    if (cut > 0) {
      metrics.tokensCut.inc({ by: 'guard' }, cut)
      log.error('token_cut_by_guard', { requestId: client.requestId, count: cut })
    }
    return text
  }

  const endOtherSessions = async (
    { userId, login }: Transaction,
    own: string | undefined,
    client: Client,
  ) => {
    if (userId === undefined) return
    const reason = 'password_change'
    const count = await sessions.endAllOf(userId, reason, own)
    audit.sessionsRevoked({ userId, count, reason }, login, client)
  }

  const isSomebodyElses = async (sessionId: string | undefined, userId: string | undefined) => {
    const owner =
      sessionId === undefined || userId === undefined ? undefined : await sessions.ownerOf(sessionId)
    return owner !== undefined && owner !== userId
  }

  return async (before, handle, sending, client) => {
    const { operation, factorType } = sending
    const reply = await upstream.send(sending.call, client)
    const { answer: shown, noneLeft } = withoutHidden(reply.body, parts.hiddenFactors)
    const rewritten = walked(() => {
      const made = rewriteAnswer(shown, {
        upstreamOrigins: parts.upstreamOrigins,
        publicOrigin: parts.publicOrigin,
        handle,
        knownTokens: [before.stateToken, ...before.retiredTokens],
        pictureHandle: (path) => offers.pictureHandle(client.device.id, path),
      })
      return { ...made, body: guarded(made.body, made.tokens, client) }
    })
    if (rewritten.cutFromLinks > 0) metrics.tokensCut.inc({ by: 'link' }, rewritten.cutFromLinks)
    const { body } = rewritten
    const { status, headers, errorCode } = reply
    const outcome: StepAnswer = { kind: 'answer', status, body, headers, errorCode, sessionId: undefined }

    if (reply.isError) {
      audit.upstreamError(reply, client)
      audit.refused(operation, reply, before, client, factorType)
      return { outcome, after: stateIsGone(reply) ? undefined : before }
    }

    const answer = readAnswer(reply.body)
    if (answer.status === '' && operation !== 'cancel') {
      throw upstreamUnavailable(new Error('an answer without a status'))
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
      offered: rewritten.offered,
      proof: sending.proof,
      factorId: sending.factorId,
      expiresAtMs: now() + ttlMs,
      maxOffered: parts.maxOfferedSteps,
    })
    await offers.keep(client.device.id, rewritten.offered, [after.stateToken, ...after.retiredTokens], ttlMs)
    audit.answered(operation, answer, { before, after }, client, factorType)
    const kept = goesOn(after) ? after : remnantOf(after, rewritten.offered, now() + parts.remnantMs)

    const revoke = async (own: string | undefined) => {
      if (sending.revokesSessions === true) await endOtherSessions(after, own, client)
    }
    const { status: answered, factorResult } = answer
    if (!opensSession(after, answer)) {
      const waits = factorResult === 'WAITING'
      const settled = () => revoke(undefined)
      return { outcome, after: kept, status: answered, factorResult, waits, settled }
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
      settled: () => earned.settled(() => revoke(sessionId)),
      undo: earned.undo,
    }
  }
}

/** Adds to what is already serialized and guarded. */
function withMember(body: string, member: object): string {
  return JSON.stringify({ ...record(JSON.parse(body)), ...member })
}

/** What is nested so deep that it can't be walked, or written down, is no answer of the API. */
function walked<Result>(walk: () => Result): Result {
  try {
    return walk()
  } catch (error) {
    throw error instanceof RangeError ? upstreamUnavailable(error) : error
  }
}

/** The upstream no longer knows the state token: the transaction is over. */
function stateIsGone({ status, errorCode }: AuthnReply): boolean {
  return status === 401 && errorCode === unknownHandle().code
}
