import { advance, mayLeaveEnrolment } from './advance.ts'
import { notAllowedNow } from './authn-error.ts'
import type { Org } from './org.ts'
import type { Status } from './statuses.ts'
import { dropChallenge, type Transaction } from './transaction.ts'
import type { User } from './user.ts'

/** POST /skip: leaves a password warning, or a choice of further factors. */
export function skip(org: Org, transaction: Transaction, user: User): void {
  if (transaction.status === 'MFA_ENROLL') {
    if (!mayLeaveEnrolment(org, user)) throw notAllowedNow()
    transaction.enrolmentSkipped = true
  } else transaction.passwordDone = true
  advance(org, transaction, user)
}

const PREVIOUS: Partial<Record<Status, Status>> = {
  MFA_CHALLENGE: 'MFA_REQUIRED',
  MFA_ENROLL_ACTIVATE: 'MFA_ENROLL',
}

/** POST /previous: back to the choice of factors. */
export function goBack(transaction: Transaction): void {
  const status = PREVIOUS[transaction.status]
  if (status === undefined) throw notAllowedNow()
  dropChallenge(transaction)
  transaction.status = status
}

/** POST /cancel: `{relayState}`, or nothing. */
export function cancel(org: Org, transaction: Transaction): Record<string, unknown> {
  org.transactions.end(transaction)
  return transaction.relayState === undefined ? {} : { relayState: transaction.relayState }
}
