import type { OrgEventType } from '../org-events.ts'
import type { Org } from './org.ts'
import { revokeSessions } from './passwords.ts'
import { sendRecoveryEmail } from './recovery.ts'
import type { User } from './user.ts'

/** As in Okta's Users API. */
export type UserStatus =
  | NonNullable<User['adminStatus']>
  | (typeof ACTIVATED)[number]
  | 'STAGED'
  | 'PROVISIONED'

/** What an administrator does, by Okta's names. */
export const LIFECYCLE_OPERATIONS = [
  'suspend',
  'unsuspend',
  'deactivate',
  'reset_password',
  'reset_factors',
  'clear_sessions',
] as const
export type LifecycleOperation = (typeof LIFECYCLE_OPERATIONS)[number]

const ACTIVATED = ['ACTIVE', 'PASSWORD_EXPIRED', 'LOCKED_OUT'] as const

type Lifecycle = {
  eventType: OrgEventType
  /** Missing: every status. */
  from?: readonly UserStatus[]
  change(org: Org, user: User, sendsEmail: boolean): void
}

const LIFECYCLE: Readonly<Record<LifecycleOperation, Lifecycle>> = {
  suspend: {
    eventType: 'user.lifecycle.suspend',
    from: ['ACTIVE'],
    change: (org, user) => refuseSignIns(org, user, 'SUSPENDED'),
  },
  unsuspend: {
    eventType: 'user.lifecycle.unsuspend',
    from: ['SUSPENDED'],
    change: (_org, user) => {
      user.adminStatus = undefined
    },
  },
  deactivate: {
    eventType: 'user.lifecycle.deactivate',
    from: [...ACTIVATED, 'PROVISIONED', 'RECOVERY', 'SUSPENDED'],
    change: (org, user) => refuseSignIns(org, user, 'DEPROVISIONED'),
  },
  reset_password: {
    eventType: 'user.account.reset_password',
    from: [...ACTIVATED, 'RECOVERY'],
    change: (org, user, sendsEmail) => {
      refuseSignIns(org, user, 'RECOVERY')
      if (sendsEmail) sendRecoveryEmail(org, user, 'PASSWORD')
    },
  },
  reset_factors: {
    eventType: 'user.mfa.factor.reset_all',
    change: (_org, user) => {
      user.factors = []
    },
  },
  clear_sessions: { eventType: 'user.session.clear', change: revokeSessions },
}

/**
 * Changes the user and sends the event. Resolves when the delivery has ended, with a sentence for
 * each receiver that did not take the event: as at Okta, the user is changed all the same.
 *
 * @param sendsEmail whether the user gets the link of a reset
 * @throws if the user's status does not allow it
 */
export async function changeLifecycle(
  org: Org,
  user: User,
  operation: LifecycleOperation,
  sendsEmail = true,
): Promise<readonly string[]> {
  const { eventType, from, change } = LIFECYCLE[operation]
  const status = statusOf(user)
  if (from?.includes(status) === false) throw new Error(`${operation}: ${user.login} is ${status}`)
  change(org, user, sendsEmail)
  return org.sendEvent(eventType, user)
}

export function statusOf({ adminStatus, activated, lockedOut, passwordExpired, config }: User): UserStatus {
  if (adminStatus !== undefined) return adminStatus
  if (!activated) return config.staged ? 'STAGED' : 'PROVISIONED'
  if (lockedOut) return 'LOCKED_OUT'
  return passwordExpired ? 'PASSWORD_EXPIRED' : 'ACTIVE'
}

/** Whatever the user could continue with ends too. */
function refuseSignIns(org: Org, user: User, status: NonNullable<User['adminStatus']>): void {
  user.adminStatus = status
  revokeSessions(org, user)
  org.recoveries.endWhere((recovery) => recovery.user === user)
  for (const transaction of org.transactions.all())
    if (transaction.user === user) org.transactions.end(transaction)
}
