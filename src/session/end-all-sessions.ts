import type { RevocationReason } from '../observability/audit-events.ts'
import type { RevocationTimes } from './revocation-times.ts'
import type { Sessions } from './sessions.ts'
import type { SessionsToKeep, UserKeys } from './user-indexes.ts'

/**
 * Ends all sessions of a user, and all that could restore one: open transactions always; known devices only when no
 * session stays. Says how many sessions there were.
 */
export type EndAllSessions = (
  userId: string,
  reason: RevocationReason,
  keep?: SessionsToKeep,
) => Promise<number>

export interface EndAllSessionsOptions {
  readonly sessions: Pick<Sessions, 'list' | 'endAll'>
  readonly openTransactions: Pick<UserKeys, 'deleteAll'>
  readonly knownDevices: Pick<UserKeys, 'deleteAll'>
  readonly revocationTimes: Pick<RevocationTimes, 'record'>
  /** Has what a user may access fetched again; never throws. */
  readonly refetchAccess: (login: string) => Promise<void>
}

export function createEndAllSessions(options: EndAllSessionsOptions): EndAllSessions {
  const { sessions, openTransactions, knownDevices, revocationTimes, refetchAccess } = options

  return async (userId, reason, keep = {}) => {
    /*
     * Transactions first: a step that is under way then finds its transaction gone when it commits, and takes its session
     * back. A step that has committed before has written its session before, so it is found below.
     */
    const [recorded] = await Promise.allSettled([revocationTimes.record(userId)]) // for the transactions that have not named their user yet
    await openTransactions.deleteAll(userId, keep.transactionKeys)
    const logins = new Set((await sessions.list(userId)).map(({ session }) => session.login))
    const count = await sessions.endAll(userId, reason, keep)
    await Promise.all([...logins].map(refetchAccess))
    if (keep.id === undefined) await knownDevices.deleteAll(userId) // last: they only decide which limits hold
    if (recorded.status === 'rejected') throw recorded.reason // a full store refuses the note, but deletes
    return count
  }
}
