import { stepNotOffered, unknownHandle } from '../../errors.ts'
import type { Session } from '../../session/session.ts'
import type { Decision } from '../step/decision.ts'
import type { PlanBase } from '../step/plan.ts'
import { StepRefusedError } from '../step/step-refused.ts'
import { createAnswer } from '../transaction/step-outcome.ts'
import { findStep, type Transaction } from '../transaction/transaction.ts'

/** Redirects the browser once to a link that Okta offered. */
export interface RedirectPlan extends PlanBase {
  readonly kind: 'redirect'
  readonly call: undefined
  /** Okta's path, normalized. */
  readonly path: string
}

/**
 * The protocol requires Okta's own token in `Location`.
 *
 * @param session the one that the redirects were issued for, or else this browser's
 */
export function decideRedirect(
  { path }: RedirectPlan,
  before: Transaction,
  session: Session | undefined,
): Decision {
  if (isOver(before, session)) throw new StepRefusedError(unknownHandle())
  const target = findStep(before.offered, 'GET', path)?.href
  if (target === undefined) throw new StepRefusedError(stepNotOffered())
  const outcome = createAnswer('', { status: 302, headers: { Location: target } })
  return { outcome, after: removeRedirect(before, path), attempt: { outcome }, events: [] }
}

/**
 * A redirect-only transaction ends with its session. If it opened none, it ends when another user
 * signs in.
 */
function isOver({ origin, sessionId, userId }: Transaction, session: Session | undefined): boolean {
  if (origin !== 'redirect-only') return false
  return sessionId === undefined ? session !== undefined && session.userId !== userId : session === undefined
}

/** Removes the redirects of the path. A redirect-only transaction without redirects is over. */
function removeRedirect(transaction: Transaction, path: string): Transaction | undefined {
  const offered = transaction.offered.filter((step) => step.href === undefined || step.path !== path)
  return transaction.origin === 'redirect-only' && offered.length === 0
    ? undefined
    : { ...transaction, offered }
}
