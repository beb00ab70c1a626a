import type { Client } from '../browser/client.ts'
import type { Attempt } from '../throttling/attempts.ts'
import type { StepAnswer, StepResult } from '../transaction/step-result.ts'
import type { Transaction } from '../transaction/transaction.ts'

/** One request of a sign-in, as `run-step.ts` takes it. */
export interface Step {
  /** As the browser sent it; undefined: the step begins a transaction. */
  readonly handle: string | undefined
  /** What identical requests of one device and handle have in common: path, query and body. */
  readonly identity: readonly unknown[]
  /** The path, if the step is a poll: it shows nothing and asks how things stand. */
  readonly pollPath: string | undefined
  /** While it runs, so many requests of its transaction may run, this one included. */
  readonly maxConcurrent: number
  /** What it tries, if the request itself says so; undefined: the plan says it. */
  readonly attempt: Attempt | undefined
  /**
   * Checks the step against its transaction, before anything is counted or sent. A step that begins a transaction gets an empty
   * one. Throws 401 E0000011 or 403 E0000079.
   */
  plan(before: Transaction, handle: string): StepPlan
}

/** Requests of one transaction that may run at the same time, unless one of them says less. */
export const MAX_CONCURRENT = 10

export interface StepPlan {
  /** What the step tries; undefined: nothing that is limited. */
  readonly attempt?: Attempt | undefined
  /** Sends the step, and says what became of it. */
  take(): Promise<StepResult>
}

/** Takes a step and answers it; a refusal is thrown. */
export type RunStep = (step: Step, client: Client) => Promise<StepAnswer>
