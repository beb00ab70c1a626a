import type { Logger } from '../observability/logger.ts'
import type { SessionRecords } from '../session/session-records.ts'
import type { EndAllSessions } from '../session/user-sessions.ts'
import { KEYS, startOf } from '../store/keys.ts'
import type { Store } from '../store/store.ts'
import type { RevocationTimes } from './revocation-times.ts'
import type { UserKeys } from './user-keys.ts'

export interface EndAllSessionsOptions {
  readonly sessions: Pick<SessionRecords, 'list' | 'endAll'>
  readonly openTransactions: Pick<UserKeys, 'deleteAll'>
  readonly knownDevices: Pick<UserKeys, 'deleteAll'>
  readonly revocationTimes: Pick<RevocationTimes, 'record'>
  /** Makes all replicas read the user's PAM groups again. */
  readonly refetchAccess: (login: string) => Promise<void>
  readonly log: Logger
}

/**
 * Ends all sessions of a user and everything that could restore one: open transactions, and known
 * devices unless a session is kept.
 */
export function createEndAllSessions(options: EndAllSessionsOptions): EndAllSessions {
  const { sessions, openTransactions, knownDevices, revocationTimes, refetchAccess, log } = options

  /** No session comes back if this fails: the groups in the cache are served until they are old. */
  const refetch = (userId: string) => async (login: string) => {
    try {
      await refetchAccess(login)
    } catch (error) {
      log.warn('groups_not_cleared', { userId }, error)
    }
  }

  return async (userId, reason, audit, keep = {}) => {
    let count = 0
    const onEnd = () => {
      count += 1
    }
    try {
      // Transactions first: a running step then finds its transaction deleted when it commits, and
      // rolls its session back. The session of a step that has committed is already written, and is
      // found below.
      const { transactionsSinceMs = keep.createdSinceMs } = keep
      const [recorded] = await Promise.allSettled([revocationTimes.record(userId, transactionsSinceMs)])
      await openTransactions.deleteAll(userId, keep)
      const logins = new Set((await sessions.list(userId)).map(({ session }) => session.login))
      await sessions.endAll(userId, reason, keep, onEnd)
      await Promise.all([...logins].map(refetch(userId)))
      // last: they only select limits
      if (keep.id === undefined) await knownDevices.deleteAll(userId)
      // a full store refuses writes, but deletes
      if (recorded.status === 'rejected') throw recorded.reason
      return count
    } finally {
      audit(count)
    }
  }
}

/**
 * Ends the sessions of all users, after what could open one: transactions and SSO tokens. The times
 * at which users were signed out stay: they stop sign-ins that are in flight and in no record yet.
 */
export async function endSessionsOfAllUsers(store: Pick<Store, 'keyPrefix' | 'deleteAll'>): Promise<number> {
  await store.deleteAll(startOf(store, KEYS.transaction))
  await store.deleteAll(startOf(store, KEYS.ssoToken))
  return store.deleteAll(startOf(store, KEYS.session))
}
