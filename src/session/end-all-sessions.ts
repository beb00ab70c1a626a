import type { RevocationReason } from '../observability/audit-events.ts'
import type { RevocationTimes } from './revocation-times.ts'
import type { Sessions } from './sessions.ts'
import type { UserKeys } from './user-keys.ts'
import type { SessionsToKeep } from './user-sessions.ts'

/**
 * Ends all sessions of a user and everything that could restore one: open transactions, and known devices unless a session is kept.
 *
 * @returns how many sessions were ended
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
  /** Makes all replicas read the user's PAM groups again. Never throws. */
  readonly refetchAccess: (login: string) => Promise<void>
}

export function createEndAllSessions(options: EndAllSessionsOptions): EndAllSessions {
  const { sessions, openTransactions, knownDevices, revocationTimes, refetchAccess } = options

  return async (userId, reason, keep = {}) => {
    // Transactions first: a running step then finds its transaction deleted when it commits, and rolls its session back. The
    // session of a step that has committed is already written, and is found below.
    const [recorded] = await Promise.allSettled([revocationTimes.record(userId)])
    await openTransactions.deleteAll(userId, keep.transactionKeys)
    const logins = new Set((await sessions.list(userId)).map(({ session }) => session.login))
    const count = await sessions.endAll(userId, reason, keep)
    await Promise.all([...logins].map(refetchAccess))
    if (keep.id === undefined) await knownDevices.deleteAll(userId) // last: they only select limits
    if (recorded.status === 'rejected') throw recorded.reason // a full store refuses writes, but deletes
    return count
  }
}
