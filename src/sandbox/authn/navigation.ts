import { advance, mayLeaveEnrolment } from './advance.ts'
import { notAllowedNow } from './authn-error.ts'
import type { Person } from './person.ts'
import type { Status } from './statuses.ts'
import { dropChallenge, type Transaction } from './transaction.ts'
import type { World } from './world.ts'

/** POST /skip: leaves a password warning, or a choice of further factors. */
export function skip(world: World, transaction: Transaction, person: Person): void {
  if (transaction.status === 'MFA_ENROLL') {
    if (!mayLeaveEnrolment(world, person)) throw notAllowedNow()
    transaction.enrolmentSkipped = true
  } else transaction.passwordDone = true
  advance(world, transaction, person)
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
export function cancel(world: World, transaction: Transaction): Record<string, unknown> {
  world.transactions.end(transaction)
  return transaction.relayState === undefined ? {} : { relayState: transaction.relayState }
}
