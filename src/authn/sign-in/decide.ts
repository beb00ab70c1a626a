import { otherUsersSession, unknownHandle } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { RevocationTimes } from '../../session/revocation-times.ts'
import type { Sessions } from '../../session/sessions.ts'
import type { Client } from '../browser/client.ts'
import type { Answer, AnsweredUser } from '../transaction/answer.ts'
import { isUnverifiedImport } from '../transaction/credentials.ts'
import type { OfferedResources } from '../transaction/offered-resources.ts'
import type { OfferedStep } from '../transaction/offered-steps.ts'
import { type StepAnswer, type StepResult, toRefusal } from '../transaction/step-result.ts'
import { isOngoing, opensSession, type Transaction, toRedirectOnly } from '../transaction/transaction.ts'
import { type IssueSessionDeps, issueSession } from './commit.ts'

/** An answer and what the browser would get, without how the upstream was called. */
export interface AnsweredSignIn {
  readonly before: Transaction
  readonly after: Transaction
  readonly handle: string
  readonly answer: Answer
  /** Sanitized, so that the session contains no token. */
  readonly shownUser: AnsweredUser | undefined
  readonly outcome: StepAnswer
  readonly offered: readonly OfferedStep[]
  readonly ssoToken: string | undefined
  /** The field that a refusal names. */
  readonly tokenField: Parameters<typeof otherUsersSession>[0]
}

export interface DecideDeps extends IssueSessionDeps {
  readonly sessions: Pick<Sessions, 'get' | 'prepare'>
  readonly revocationTimes: Pick<RevocationTimes, 'revokedSince'>
  readonly offeredResources: Pick<OfferedResources, 'keep'>
  /** How long a redirect-only transaction lasts. */
  readonly redirectOnlyMs: number
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** Refuses the answer, continues the transaction, or issues the session. */
export async function decide(
  signIn: AnsweredSignIn,
  client: Client,
  deps: DecideDeps,
): Promise<Pick<StepResult, 'outcome' | 'after' | 'session'>> {
  const { before, after, handle, answer, shownUser, outcome, offered, ssoToken } = signIn
  if (await wasUserSignedOut(before, after, deps))
    return { outcome: toRefusal(unknownHandle()), after: undefined }
  const open = mayBePlanted(before, after) ? await openSession(client, deps) : undefined
  if (open !== undefined && answer.user !== undefined && open.userId !== answer.user.id)
    return { outcome: refusePlanted(signIn, client, deps), after: undefined }
  if (!opensSession(after, answer)) {
    const stateTokens = [after.stateToken, ...after.retiredTokens]
    const ttlMs = after.expiresAtMs - deps.now()
    await deps.offeredResources.keep(client.device.id, offered, { handle, stateTokens, ttlMs })
    const sessionId = open === undefined ? undefined : client.sessionId
    return { outcome, after: nextTransaction(after, offered, sessionId, deps) }
  }
  const session = issueSession({ answer, after, profile: shownUser?.profile ?? {}, ssoToken }, client, deps)
  const { id: sessionId } = session
  return {
    outcome: { ...outcome, sessionId },
    after: nextTransaction(after, offered, sessionId, deps),
    session,
  }
}

/**
 * All sessions of the user were ended after the transaction began, but the transaction was not, because its stored
 * record does not name the user. For an imported one, the first call of this step may have named the user; only the
 * commit stores that.
 */
async function wasUserSignedOut(
  before: Transaction,
  { userId }: Transaction,
  { revocationTimes }: Pick<DecideDeps, 'revocationTimes'>,
): Promise<boolean> {
  const isUnnamed = before.userId === undefined || isUnverifiedImport(before)
  return (
    before.stateToken !== '' &&
    isUnnamed &&
    userId !== undefined &&
    revocationTimes.revokedSince(userId, before.createdAtMs)
  )
}

/** The browser's user may not have begun the sign-in, so it must not replace another user's session (docs/security.md#sessions). */
function mayBePlanted(before: Transaction, after: Transaction): boolean {
  return before.origin === 'imported' || !after.userProved
}

/** This browser's session. */
async function openSession({ sessionId, device }: Client, { sessions }: Pick<DecideDeps, 'sessions'>) {
  return sessionId === undefined ? undefined : sessions.get(sessionId, device.id)
}

function refusePlanted(
  { before, tokenField }: AnsweredSignIn,
  client: Client,
  { log, metrics }: Pick<DecideDeps, 'log' | 'metrics'>,
) {
  const reason = before.origin === 'imported' ? 'step_up_user_mismatch' : 'token_user_mismatch'
  metrics.requestsRefused.inc({ reason })
  log.warn(reason, { requestId: client.requestId })
  return toRefusal(otherUsersSession(tokenField))
}

/** The transaction while it continues; afterwards a redirect-only one if the last answer has redirects. */
function nextTransaction(
  after: Transaction,
  offered: readonly OfferedStep[],
  sessionId: string | undefined,
  { redirectOnlyMs, now }: Pick<DecideDeps, 'redirectOnlyMs' | 'now'>,
): Transaction | undefined {
  return isOngoing(after)
    ? after
    : toRedirectOnly(after, offered, { expiresAtMs: now() + redirectOnlyMs, sessionId })
}
