import type { StepOutcome } from './step-outcome.ts'
import type { Transaction } from './transaction.ts'

/** What became of a step: what the browser gets, what is kept, and what is still to be written. */
export interface Exchanged {
  readonly outcome: StepOutcome
  /** `before` itself: nothing changed; undefined: the transaction is over. */
  readonly after: Transaction | undefined
  /** Whom the transaction is about by now, also where nothing of it is kept; undefined: nobody has said so. */
  readonly userId?: string | undefined
  /** That the upstream's answer named, also where the broker refuses it; undefined for an Error object and for an answer of our own. */
  readonly status?: string
  /** What that answer said of a factor that is not done. */
  readonly factorResult?: string | undefined
  /** The upstream refused the old password of a password change. */
  readonly wrongOldPassword?: boolean
  /** The upstream waits for the person, who has been asked on another device. */
  readonly waits?: boolean
  /** Writes the session that was earned, before the step is settled. */
  readonly first?: () => Promise<void>
  /** Makes it the session of its device, beside the step's settlement. */
  readonly alongside?: () => Promise<void>
  /** Ends the sessions that it replaces, once all of that is written. */
  readonly settled?: () => Promise<void>
  /** Ends the session that was opened, when not all of it could be written, or too late. */
  readonly undo?: () => Promise<void>
}
