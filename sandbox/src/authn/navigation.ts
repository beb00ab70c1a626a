import { operationNotAllowed } from './authn-error.ts'
import { canSkipEnrollment, setNextStatus } from './next-status.ts'
import type { Org } from './org.ts'
import type { Status } from './statuses.ts'
import { clearChallenge, type Transaction } from './transaction.ts'
import type { User } from './user.ts'

/** POST /skip: skips a password warning or optional enrollment. */
export function skip(org: Org, transaction: Transaction, user: User): void {
  if (transaction.status === 'MFA_ENROLL') {
    if (!canSkipEnrollment(org, user)) throw operationNotAllowed()
    transaction.enrollmentSkipped = true
  } else transaction.passwordHandled = true
  setNextStatus(org, transaction, user)
}

const PREVIOUS: Partial<Record<Status, Status>> = {
  MFA_CHALLENGE: 'MFA_REQUIRED',
  MFA_ENROLL_ACTIVATE: 'MFA_ENROLL',
}

/** POST /previous: returns to the choice of factors. */
export function goBack(transaction: Transaction): void {
  const status = PREVIOUS[transaction.status]
  if (status === undefined) throw operationNotAllowed()
  clearChallenge(transaction)
  transaction.status = status
}

/** POST /cancel: responds with `{relayState}`, or with an empty object. */
export function cancel(org: Org, transaction: Transaction): Record<string, unknown> {
  org.transactions.end(transaction)
  return transaction.relayState === undefined ? {} : { relayState: transaction.relayState }
}
