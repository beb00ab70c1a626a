import { anothersSession, unknownHandle, upstreamUnavailable } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Sessions } from '../session/sessions.ts'
import type { AuthnCall, AuthnReply, AuthnUpstream } from './authn-upstream.ts'
import type { Client } from './client.ts'
import type { Guessing } from './guessing/guessing.ts'
import type { HandOver } from './hand-over.ts'
import { type HiddenFactors, withoutHidden } from './hidden-factors.ts'
import { type RewriteOptions, type Rewritten, rewriteAnswer } from './links.ts'
import type { Offers } from './offers.ts'
import { readAnswer, record } from './read-answer.ts'
import type { StepAudit } from './step-audit.ts'
import { refusalOf, type StepAnswer, type StepOutcome } from './step-outcome.ts'
import { cutTokens } from './tokens.ts'
import {
  type Answer,
  type AnsweredUser,
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
  /** Ends other sessions, once the step is settled. */
  readonly settled?: () => Promise<void>
  /** Ends the session that was opened, when the step turned out to be too late. */
  readonly undo?: () => Promise<void>
}

export interface ExchangeParts {
  readonly upstream: AuthnUpstream
  readonly sessions: Pick<Sessions, 'open' | 'end' | 'endAllOf' | 'ownerOf'>
  readonly handOver: HandOver
  readonly offers: Offers
  readonly audit: StepAudit
  readonly unknownSteps: UnknownSteps
  readonly guessing: Pick<Guessing, 'remember'>
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
  const { upstream, sessions, handOver, offers, audit, unknownSteps, log, metrics, now } = parts

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

  /** A full sign-in: the person is known on this device from now on, under every name. */
  const remember = async ({ login }: Transaction, { user }: Answer, client: Client) => {
    if (user === undefined) return
    const logins = [login, loginOf(user.profile)].filter((name) => name !== undefined)
    await parts.guessing.remember({ userId: user.id, logins }, client)
  }

  /** Opens the session that was earned, and keeps the session token where hand-over is allowed. */
  const open = async (
    answer: Answer & { user: AnsweredUser },
    after: Transaction,
    body: string,
    client: Client,
  ) => {
    // from what goes out, so that no token reaches the session either
    const profile = readAnswer(record(JSON.parse(body))).user?.profile ?? {}
    const userId = answer.user.id
    const login = loginOf(profile) ?? after.login ?? ''
    const amr = amrOf(after)
    const grant = {
      userId,
      login,
      profile,
      amr,
      loginHash: audit.hashLogin(login),
      device: audit.hashDevice(client.device.id),
      userAgent: client.userAgent,
    }
    const { id: sessionId, publicId, gaveWay } = await sessions.open(grant, client.sessionId)
    if (gaveWay > 0) audit.sessionsRevoked({ userId, count: gaveWay, reason: 'too_many' }, login, client)
    const { sessionToken: real } = answer
    const sessionToken =
      real !== undefined && handOver.enabled ? await handOver.keep(real, client) : undefined
    audit.succeeded({ userId, sessionId: publicId, methods: amr.join(' ') }, login, client)
    const undo = async () => {
      await sessions.end(sessionId, 'orphaned')
      if (sessionToken !== undefined) await handOver.forget(sessionToken)
    }
    return { sessionId, sessionToken, undo }
  }

  return async (before, handle, sending, client) => {
    const { operation, factorType } = sending
    const reply = await upstream.send(sending.call, client)
    const { answer: shown, noneLeft } = withoutHidden(reply.body, parts.hiddenFactors)
    const rewritten = rewrite(shown, {
      upstreamOrigins: parts.upstreamOrigins,
      publicOrigin: parts.publicOrigin,
      handle,
      knownTokens: [before.stateToken, ...before.retiredTokens],
      pictureHandle: (path) => offers.pictureHandle(client.device.id, path),
    })
    if (rewritten.cutFromLinks > 0) metrics.tokensCut.inc({ by: 'link' }, rewritten.cutFromLinks)
    const body = guarded(rewritten.body, rewritten.tokens, client)
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
    await offers.keep(client.device.id, rewritten.offered, ttlMs)
    audit.answered(operation, answer, { before, after }, client, factorType)
    const kept = goesOn(after) ? after : remnantOf(after, rewritten.offered, now() + parts.remnantMs)

    const settledWith = (own: string | undefined) => async () => {
      if (own !== undefined) await remember(after, answer, client)
      if (own !== undefined && client.sessionId !== undefined)
        await sessions.end(client.sessionId, 'replaced')
      if (sending.revokesSessions === true) await endOtherSessions(after, own, client)
    }
    const { status: answered } = answer
    if (!opensSession(after, answer)) {
      const { factorResult } = answer
      const waits = factorResult === 'WAITING'
      return { outcome, after: kept, status: answered, factorResult, waits, settled: settledWith(undefined) }
    }
    const { sessionId, sessionToken, undo } = await open(answer, after, body, client)
    return {
      outcome: {
        ...outcome,
        body: sessionToken === undefined ? body : withMember(body, { sessionToken }),
        sessionId,
      },
      after: kept,
      status: answered,
      settled: settledWith(sessionId),
      undo,
    }
  }
}

/** Adds to what is already serialized and guarded. */
function withMember(body: string, member: object): string {
  return JSON.stringify({ ...record(JSON.parse(body)), ...member })
}

/** What is nested so deep that it can't be walked is no answer of the API. */
function rewrite(body: AuthnReply['body'], options: RewriteOptions): Rewritten {
  try {
    return rewriteAnswer(body, options)
  } catch (error) {
    throw error instanceof RangeError ? upstreamUnavailable(error) : error
  }
}

/** The upstream no longer knows the state token: the transaction is over. */
function stateIsGone({ status, errorCode }: AuthnReply): boolean {
  return status === 401 && errorCode === unknownHandle().code
}

function loginOf(profile: Readonly<Record<string, unknown>>): string | undefined {
  return typeof profile.login === 'string' && profile.login !== '' ? profile.login : undefined
}

/** `mfa` when more than one kind of proof was taken (RFC 8176 §2). */
function amrOf({ amr }: Transaction): string[] {
  return amr.length > 1 ? [...new Set([...amr, 'mfa'])] : [...amr]
}
