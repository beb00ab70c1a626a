import { otherUsersSession, upstreamUnavailable } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { RevocationTimes } from '../../revocation/revocation-times.ts'
import type { PreparedSession } from '../../session/prepare-session.ts'
import type { Session } from '../../session/session.ts'
import type { Sessions } from '../../session/sessions.ts'
import { allSettledOrThrow } from '../../store/all-settled-or-throw.ts'
import { UpstreamFailure } from '../../upstream/upstream-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import type { SsoTokens } from '../redirects/sso-tokens.ts'
import type { Throttling } from '../throttling/throttling.ts'
import type { Answer, AnsweredUser } from '../transaction/answer.ts'
import { opensSession } from '../transaction/credentials.ts'
import type { OfferedResources } from '../transaction/offered-resources.ts'
import {
  type IssuedSession,
  type StepAnswer,
  type StepResult,
  toRefusal,
} from '../transaction/step-result.ts'
import { isOngoing, type OfferedStep, type Transaction, toRedirectOnly } from '../transaction/transaction.ts'
import { readAnswer } from '../upstream/read-answer.ts'
import type { UpstreamStep } from './upstream-step.ts'

/** An answer and what the browser would get, without how the upstream was called. */
export interface AnsweredSignIn {
  readonly before: Transaction
  readonly after: Transaction
  readonly handle: string
  readonly answer: Answer
  readonly outcome: StepAnswer
  readonly offered: readonly OfferedStep[]
  readonly ssoToken: string | undefined
  /** The field that a refusal names. */
  readonly tokenField: Parameters<typeof otherUsersSession>[0]
}

export interface ConcludeStepDeps {
  readonly sessions: Pick<Sessions, 'get' | 'prepare'>
  readonly ssoTokens: Pick<SsoTokens, 'write' | 'remove'>
  readonly throttling: Pick<Throttling, 'rememberDevice'>
  readonly audit: StepAudit
  readonly offeredResources: Pick<OfferedResources, 'keep'>
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** Refuses the answer, continues the transaction, or issues the session. */
export async function concludeStep(
  signIn: AnsweredSignIn,
  client: Client,
  deps: ConcludeStepDeps,
): Promise<Pick<StepResult, 'outcome' | 'after' | 'session'>> {
  const { before, after, handle, answer, outcome, offered, ssoToken } = signIn
  const isPlantable = mayBePlanted(before, after)
  const opens = opensSession(after, answer)
  const open = isPlantable || opens ? await openSession(client, deps) : undefined
  if (isPlantable && open !== undefined && answer.user !== undefined && open.userId !== answer.user.id)
    return { outcome: refusePlanted(signIn, client, deps), after: undefined }
  if (!opens) {
    const stateTokens = [after.stateToken, ...after.retiredTokens]
    const ttlMs = after.expiresAtMs - deps.now()
    await deps.offeredResources.keep(client.device.id, offered, { handle, stateTokens, ttlMs })
    const sessionId = open === undefined ? undefined : client.sessionId
    return { outcome, after: nextTransaction(after, offered, sessionId, deps) }
  }
  const profile = readAnswer(JSON.parse(outcome.body)).user?.profile ?? {}
  const session = issueSession({ answer, after, profile, ssoToken, open }, client, deps)
  const { id: sessionId } = session
  return {
    outcome: { ...outcome, sessionId },
    after: nextTransaction(after, offered, sessionId, deps),
    session,
  }
}

/**
 * All sessions of the user were ended after the transaction began, but the transaction was not, because no stored
 * record names the user yet. An earlier call of this step may have named the user; only the commit stores that.
 */
export async function wasUserSignedOut(
  before: Transaction,
  { userId }: Transaction,
  { isUserStored = before.userId !== undefined }: Pick<UpstreamStep, 'isUserStored'>,
  { revocationTimes }: { readonly revocationTimes: Pick<RevocationTimes, 'revokedSince'> },
): Promise<boolean> {
  return !isUserStored && userId !== undefined && revocationTimes.revokedSince(userId, before.createdAtMs)
}

/** The browser's user may not have begun the sign-in, so it must not replace another user's session (docs/security.md#sessions). */
function mayBePlanted(before: Transaction, after: Transaction): boolean {
  return before.origin === 'imported' || !after.userProved
}

/** This browser's session. */
async function openSession({ sessionId, device }: Client, { sessions }: Pick<ConcludeStepDeps, 'sessions'>) {
  return sessionId === undefined ? undefined : sessions.get(sessionId, device.id)
}

function refusePlanted(
  { before, tokenField }: AnsweredSignIn,
  client: Client,
  { log, metrics }: Pick<ConcludeStepDeps, 'log' | 'metrics'>,
) {
  const reason = before.origin === 'imported' ? 'step_up_user_mismatch' : 'token_user_mismatch'
  metrics.requestsRefused.inc({ reason })
  log.warn(reason, { requestId: client.requestId })
  return toRefusal(otherUsersSession(tokenField))
}

const REDIRECT_ONLY_MS = 5 * 60_000

/** The transaction while it continues; afterwards a redirect-only one if the last answer has redirects. */
function nextTransaction(
  after: Transaction,
  offered: readonly OfferedStep[],
  sessionId: string | undefined,
  { now }: Pick<ConcludeStepDeps, 'now'>,
): Transaction | undefined {
  return isOngoing(after)
    ? after
    : toRedirectOnly(after, offered, { expiresAtMs: now() + REDIRECT_ONLY_MS, sessionId })
}

/** A sign-in that opens a session. */
interface FinishedSignIn {
  readonly answer: Answer & { readonly user: AnsweredUser }
  readonly after: Transaction
  /** Sanitized, so that the session contains no token. */
  readonly profile: Readonly<Record<string, unknown>>
  readonly ssoToken: string | undefined
  /** This browser's session before. */
  readonly open: Session | undefined
}

/** Prepares the session of a finished sign-in. Nothing is stored yet. */
function issueSession(signIn: FinishedSignIn, client: Client, deps: ConcludeStepDeps): IssuedSession {
  const { answer, after, profile, open } = signIn
  const login = readLogin(profile)
  // never the name that was typed: the login is the user's identity at PAM and at applications
  if (login === undefined)
    throw upstreamUnavailable(new UpstreamFailure('invalid_response', { code: 'no login' }))
  const amr = toAmr(after)
  const grant = {
    userId: answer.user.id,
    login,
    profile,
    amr,
    loginHash: deps.audit.hashLogin(login),
    deviceId: client.device.id,
    deviceHash: deps.audit.hashDevice(client.device.id),
    userAgent: client.userAgent,
  }
  const session = deps.sessions.prepare(grant, open)
  return {
    id: session.id,
    write: () => write(session, signIn, client, deps),
    bindDevice: session.bindDevice,
    afterCommit: () => afterCommit(session, { ...signIn, login, amr }, client, deps),
    async rollback() {
      const { ssoToken } = signIn
      await allSettledOrThrow(
        session.rollback(),
        ssoToken === undefined ? Promise.resolve() : deps.ssoTokens.remove(ssoToken),
      )
    },
  }
}

async function write(
  session: PreparedSession,
  { answer, after, ssoToken }: FinishedSignIn,
  client: Client,
  { ssoTokens, throttling }: ConcludeStepDeps,
): Promise<void> {
  const { sessionToken, user } = answer
  const logins = [after.login, readLogin(user.profile)].filter((name) => name !== undefined)
  await allSettledOrThrow(
    session.write(),
    ssoToken === undefined || sessionToken === undefined
      ? Promise.resolve()
      : ssoTokens.write(ssoToken, sessionToken, session.id, client),
    // even if the session is rolled back: Okta has accepted the user's credentials
    throttling.rememberDevice({ userId: user.id, logins }, client),
  )
}

async function afterCommit(
  session: PreparedSession,
  signIn: FinishedSignIn & { readonly login: string; readonly amr: readonly string[] },
  client: Client,
  { audit }: ConcludeStepDeps,
): Promise<void> {
  const { answer, after, login, amr } = signIn
  const userId = answer.user.id
  const mayReplaceOtherUser = after.userProved && after.origin !== 'imported'
  const evicted = await session.replace(client.sessionId, mayReplaceOtherUser)
  if (evicted > 0) audit.sessionsRevoked({ userId, count: evicted, reason: 'evicted' }, login, client)
  audit.succeeded({ userId, sessionId: session.publicId, methods: amr.join(' ') }, login, client)
}

function readLogin(profile: Readonly<Record<string, unknown>>): string | undefined {
  return typeof profile.login === 'string' && profile.login !== '' ? profile.login : undefined
}

/** Adds `mfa` if more than one method was used (RFC 8176 §2). */
function toAmr({ amr }: Transaction): string[] {
  return amr.length > 1 ? [...new Set([...amr, 'mfa'])] : [...amr]
}
