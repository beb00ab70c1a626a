import { anothersSession, unknownHandle, upstreamUnavailable } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Session } from '../../session/session.ts'
import type { Sessions } from '../../session/sessions.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { Sanitizer } from '../sanitize/sanitize.ts'
import type { CallLimit } from '../throttling/call-limit.ts'
import { completesEnrolment, type Enrolment, foundActive } from '../transaction/enrolment.ts'
import type { Exchanged } from '../transaction/exchanged.ts'
import type { OfferedResources } from '../transaction/offered-resources.ts'
import { refusalOf, type StepAnswer } from '../transaction/step-outcome.ts'
import {
  advance,
  afterRefusal,
  goesOn,
  type Lifetime,
  leftMs,
  lifetimeMs,
  opensSession,
  type Proof,
  personChanged,
  remnantOf,
  type Transaction,
} from '../transaction/transaction.ts'
import type { AuthnCall, AuthnUpstream } from '../upstream/authn-upstream.ts'
import { type AuthnReply, isWrongOldPassword, readAnswer, record } from '../upstream/read-answer.ts'
import type { EarnSession } from './earned-session.ts'
import type { EndOtherSessions } from './other-sessions.ts'

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
  /** The factor that the step sets up. */
  readonly enrolment?: Enrolment | undefined
  /** The person asked for all other sessions to end. */
  readonly revokesSessions?: boolean | undefined
}

export interface ExchangeParts {
  readonly upstream: AuthnUpstream
  readonly sessions: Pick<Sessions, 'get'>
  readonly endOtherSessions: EndOtherSessions
  readonly earnSession: EarnSession
  readonly offeredResources: Pick<OfferedResources, 'keep'>
  readonly audit: StepAudit
  readonly callLimit: CallLimit
  readonly sanitizer: Pick<Sanitizer, 'step'>
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
    offeredResources,
    audit,
    callLimit,
    sanitizer,
    log,
    metrics,
    now,
  } = parts

  /** The session that is open in this browser. */
  const openSession = async ({ sessionId, device }: Client) =>
    sessionId === undefined ? undefined : sessions.get(sessionId, device.id)

  const isAnothers = (open: Session | undefined, userId: string | undefined) =>
    open !== undefined && userId !== undefined && open.userId !== userId

  /** A token that was planted must not replace another user's open session (DESIGN §4). */
  const refusePlanted = ({ origin }: Transaction, { body }: AuthnCall, client: Client): Exchanged => {
    const reason = origin === 'imported' ? 'another_persons_step_up' : 'another_users_token'
    metrics.refusals.inc({ reason })
    log.warn(reason, { requestId: client.requestId })
    const field = (['token', 'recoveryToken'] as const).find((name) => name in body) ?? 'stateToken'
    return { outcome: refusalOf(anothersSession(field)), after: undefined }
  }

  return async (before, handle, sending, client) => {
    const { operation, factorType } = sending
    const send = () => upstream.send(sending.call, client)
    // anybody may begin a recovery for a name, and use up what its person may send; it has limits of its own
    const reply = await (before.recovery === undefined
      ? callLimit.send(before, operation, client, send)
      : send())
    const { text: body, offered, noneLeft } = sanitizer.step(reply, { before, handle }, client)
    const { status, headers, errorCode } = reply
    const outcome: StepAnswer = { kind: 'answer', status, body, headers, errorCode, sessionId: undefined }

    if (reply.isError) {
      audit.upstreamError(reply, client)
      audit.refused(operation, reply, before, client, factorType)
      const after = stateIsGone(reply) ? undefined : afterRefusal(before, sending)
      return { outcome, after, wrongOldPassword: isWrongOldPassword(reply) }
    }

    const answer = readAnswer(reply.body)
    if (sending.call.encoding === 'form') {
      audit.answered(operation, answer, { before, after: before }, client, factorType)
      return { outcome, after: before } // the next poll says where the sign-in stands
    }
    if (answer.status === '' && operation !== 'cancel') {
      throw upstreamUnavailable(new UpstreamFailure('unusable', { code: 'no status' }))
    }
    if (personChanged(before, answer)) {
      log.error('person_changed', { requestId: client.requestId, operation })
      throw upstreamUnavailable(new Error('the answer is about another person'))
    }
    if (noneLeft) {
      metrics.refusals.inc({ reason: 'every_factor_hidden' })
      log.warn('every_factor_hidden', { requestId: client.requestId, operation })
    }
    const givenMs = lifetimeMs(answer.expiresAt, reply.date, parts.lifetime, now())
    const ttlMs = Math.min(givenMs, leftMs(before, parts.lifetime, now()))
    const after = advance(before, answer, {
      offered,
      proof: sending.proof,
      factorId: sending.factorId,
      enrolment: sending.enrolment,
      expiresAtMs: now() + ttlMs,
    })
    if (after.offered.length > parts.maxOfferedSteps) {
      metrics.refusals.inc({ reason: 'too_many_steps' })
      log.error('too_many_steps', { requestId: client.requestId, operation, count: after.offered.length })
      throw upstreamUnavailable(new UpstreamFailure('unusable', { code: 'too many steps' }))
    }
    audit.answered(operation, answer, { before, after }, client, factorType)
    const enrolled = completesEnrolment(operation, answer)
      ? sending.enrolment
      : foundActive(operation, answer, before)
    if (enrolled !== undefined) audit.enrolled(operation, enrolled, after, client)
    // before the step is settled or refused: the password has changed all the same
    if (sending.revokesSessions === true) await endOtherSessions(after, handle, client)
    const mayBePlanted = before.origin === 'imported' || !after.userProved
    const open = mayBePlanted ? await openSession(client) : undefined
    const { userId } = after
    const { status: answered, factorResult } = answer
    if (isAnothers(open, answer.user?.id))
      return { ...refusePlanted(before, sending.call, client), status: answered, factorResult }
    const stateTokens = [after.stateToken, ...after.retiredTokens]
    await offeredResources.keep(client.device.id, offered, { handle, stateTokens, ttlMs })

    const keptFor = (sessionId: string | undefined) =>
      goesOn(after) ? after : remnantOf(after, offered, { expiresAtMs: now() + parts.remnantMs, sessionId })
    if (!opensSession(after, answer)) {
      const waits = factorResult === 'WAITING'
      const kept = keptFor(open === undefined ? undefined : client.sessionId)
      return { outcome, after: kept, userId, status: answered, factorResult, waits }
    }
    const earned = earnSession({ answer, after, body }, client)
    const { sessionId, sessionToken } = earned
    return {
      outcome: {
        ...outcome,
        body: sessionToken === undefined ? body : withMember(body, { sessionToken }),
        sessionId,
      },
      after: keptFor(sessionId),
      userId,
      status: answered,
      first: earned.write,
      alongside: earned.takeDevice,
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
