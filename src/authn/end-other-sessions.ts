import { ExponentialBackoff, handleAll, retry } from 'cockatiel'
import type { Logger } from '../observability/logger.ts'
import type { RevocationTimes } from '../revocation/revocation-times.ts'
import type { SessionRecords } from '../session/session-records.ts'
import type { EndAllSessions } from '../session/user-sessions.ts'
import type { StepAudit } from './audit/step-audit.ts'
import type { Client } from './browser/client.ts'
import { isEndedMeanwhile } from './commit-step.ts'
import type { JoinedStep } from './join-step.ts'
import { type Decision, signedOut } from './step/decision.ts'

/**
 * Ends all sessions of a user whose password changed. The browser cannot retry, because the
 * password has changed and the transaction is over. So if it fails, the caller gets the error, and
 * the sessions that were open then are ended in the background, within about 15 minutes. What the
 * user begins meanwhile stays: sessions, transactions and known devices.
 */
export type EndOthers = (
  user: NonNullable<Decision['endsOthersOf']>,
  handle: string,
  client: Client,
) => Promise<void>

export interface OtherSessionsOptions {
  readonly endAllSessions: EndAllSessions
  readonly sessions: Pick<SessionRecords, 'endAll'>
  /** The keys under which the transaction of a handle may be stored. */
  readonly keysOf: (handle: string) => readonly string[]
  readonly audit: Pick<StepAudit, 'sessionsRevoked'>
  readonly log: Logger
  readonly now: () => number
  /** The delay before the first retry. It doubles up to 100 times this value. */
  readonly retryMs?: number
}

const REASON = 'password_change'
const MAX_RETRIES = 25

export function createEndOthers(options: OtherSessionsOptions): EndOthers {
  const { endAllSessions, sessions, keysOf, audit, log, now, retryMs = 500 } = options
  const backoff = new ExponentialBackoff({ initialDelay: retryMs, maxDelay: 100 * retryMs })
  const retryPolicy = retry(handleAll, { maxAttempts: MAX_RETRIES, backoff }).dangerouslyUnref()

  return async ({ userId, login }, handle, client) => {
    const report = (count: number) => audit.sessionsRevoked({ userId, count, reason: REASON }, login, client)
    try {
      await endAllSessions(userId, REASON, report, { transactionKeys: keysOf(handle) })
    } catch (error) {
      const { requestId } = client
      const createdSinceMs = now()
      log.error('session_revocation_failed', { requestId, userId }, error)
      let count = 0
      const onEnd = () => {
        count += 1
      }
      retryPolicy
        .execute(() => sessions.endAll(userId, REASON, { createdSinceMs }, onEnd))
        .catch((failure: unknown) =>
          log.error('session_revocation_abandoned', { requestId, userId }, failure),
        )
        .finally(() => report(count))
      throw error
    }
  }
}

export interface EndOthersDeps {
  readonly endOthers: EndOthers
  readonly revocationTimes: Pick<RevocationTimes, 'revokedSince'>
}

/**
 * Ends the user's other sessions. Before the other writes, even if the answer is refused, and never
 * undone: the password has changed.
 */
export async function endOtherSessions(
  decision: Decision,
  user: NonNullable<Decision['endsOthersOf']>,
  { handle }: JoinedStep,
  client: Client,
  deps: EndOthersDeps,
): Promise<Decision> {
  // read before, because this end is none that the step must respect
  const isEnded = await isEndedMeanwhile(decision, deps)
  await deps.endOthers(user, handle, client)
  return isEnded ? signedOut(decision) : { ...decision, unlessEnded: undefined }
}
