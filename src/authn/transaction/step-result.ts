import { z } from 'zod'
import type { BrokerError } from '../../errors.ts'
import type { Counts } from '../../okta-errors.ts'
import type { Transaction } from './transaction.ts'

/** The result of a step: the answer for the browser, the transaction, and the session that it opens. */
export interface StepResult {
  readonly outcome: StepOutcome
  /** The transaction afterwards; `before` itself if nothing changed; undefined if it is over. */
  readonly after: Transaction | undefined
  /**
   * The status in Okta's answer, also if the broker refuses it. undefined: an Error object, or the broker's own answer.
   */
  readonly status?: string
  readonly factorResult?: string | undefined
  /**
   * What Okta's Error object counts as. undefined: the code of the outcome tells, if it has one.
   */
  readonly counts?: Counts
  readonly session?: IssuedSession
}

/** A new session. Nothing is stored before `write`, and nothing is audited before `afterCommit`. */
export interface IssuedSession {
  readonly id: string
  write(): Promise<void>
  /** Makes it the session of its device. */
  bindDevice(): Promise<void>
  /** Ends the sessions that it replaces, and audits the sign-in. */
  afterCommit(): Promise<void>
  rollback(): Promise<void>
}

const strings = z.record(z.string(), z.string()).readonly()

const StepAnswer = z.object({
  kind: z.literal('answer'),
  status: z.number(),
  /** Sanitized JSON. */
  body: z.string(),
  headers: strings,
  errorCode: z.string().optional(),
  /** The session that this step opened. */
  sessionId: z.string().optional(),
})
export type StepAnswer = Readonly<z.infer<typeof StepAnswer>>

/** A refusal that changes the transaction, or that identical requests share. */
const StepRefusal = z.object({
  kind: z.literal('refusal'),
  status: z.number(),
  code: z.string(),
  summary: z.string(),
  causes: z.array(z.string()).readonly(),
  headers: strings,
})
export type StepRefusal = Readonly<z.infer<typeof StepRefusal>>

/** The response to the browser, as data. Identical requests share it, on this replica and on others. */
export const StepOutcome = z.discriminatedUnion('kind', [StepAnswer, StepRefusal])
export type StepOutcome = StepAnswer | StepRefusal

export function createAnswer(body: string, rest: Partial<StepAnswer> = {}): StepAnswer {
  return { kind: 'answer', status: 200, body, headers: {}, ...rest }
}

export function toRefusal(error: BrokerError): StepRefusal {
  const { status, code, message, causes, headers } = error
  return { kind: 'refusal', status, code, summary: message, causes, headers }
}
