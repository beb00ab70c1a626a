import type { RevocationReason } from '../observability/audit-events.ts'
import type { EndedUsers } from './ended-users.ts'
import type { Sessions } from './sessions.ts'
import type { Staying, UserKeys } from './user-indexes.ts'

/**
 * Ends all sessions of a user, and all that could restore one: open transactions always; known devices only when no
 * session stays. Says how many sessions there were.
 */
export type EndAllSessions = (
  userId: string,
  reason: RevocationReason,
  staying?: StayingSession,
) => Promise<number>

export interface StayingSession extends Staying {
  /** The store keys of the transaction that ends the sessions. */
  readonly transactionKeys?: readonly string[]
}

export interface EndAllSessionsOptions {
  readonly sessions: Pick<Sessions, 'listOf' | 'endAllOf'>
  readonly openTransactions: Pick<UserKeys, 'deleteAll'>
  readonly knownDevices: Pick<UserKeys, 'deleteAll'>
  readonly endedUsers: Pick<EndedUsers, 'note'>
  /** Has what a user may access fetched again; never throws. */
  readonly refetchAccess: (login: string) => Promise<void>
}

export function createEndAllSessions(options: EndAllSessionsOptions): EndAllSessions {
  const { sessions, openTransactions, knownDevices, endedUsers, refetchAccess } = options

  return async (userId, reason, staying = {}) => {
    /*
     * Transactions first: a step that is under way then finds its transaction gone when it commits, and takes its session
     * back. A step that has committed before has written its session before, so it is found below.
     */
    const [noted] = await Promise.allSettled([endedUsers.note(userId)]) // for the transactions that have not named their user yet
    await openTransactions.deleteAll(userId, staying.transactionKeys)
    const logins = new Set((await sessions.listOf(userId)).map(({ session }) => session.login))
    const count = await sessions.endAllOf(userId, reason, staying)
    await Promise.all([...logins].map(refetchAccess))
    if (staying.id === undefined) await knownDevices.deleteAll(userId) // last: they only decide which limits hold
    if (noted.status === 'rejected') throw noted.reason // a full store refuses the note, but deletes
    return count
  }
}
