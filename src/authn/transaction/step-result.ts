import { z } from 'zod'
import { BrokerError } from '../../errors.ts'
import type { Transaction } from './transaction.ts'

/** What became of a step: what the browser gets, what is kept, and the session that it opens. */
export interface StepResult {
  readonly outcome: StepOutcome
  /** The transaction afterwards. `before` itself: nothing changed; undefined: it is over. */
  readonly after: Transaction | undefined
  /** Of Okta's answer, also if the broker refuses it; undefined for an Error object and for an answer of the broker's own. */
  readonly status?: string
  /** Of that answer: how things stand with a factor. */
  readonly factorResult?: string | undefined
  /** Okta refused the old password of a password change. */
  readonly wrongOldPassword?: boolean
  readonly session?: IssuedSession
}

/** A session with all that comes with it. Nothing is stored before `write`, nothing is announced before `afterCommit`. */
export interface IssuedSession {
  /** For the cookie. */
  readonly id: string
  write(): Promise<void>
  /** Makes it the session of its device. */
  bindDevice(): Promise<void>
  /** Ends the sessions that it replaces, and says that the sign-in has succeeded. */
  afterCommit(): Promise<void>
  rollback(): Promise<void>
}

/** How a step ended, as data: identical requests share it, on this replica and on others. */
export type StepOutcome = StepAnswer | StepRefusal

export interface StepAnswer {
  readonly kind: 'answer'
  readonly status: number
  /** JSON, sanitized, as it is sent. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly errorCode?: string | undefined
  /** The id of the session that this step opened. */
  readonly sessionId?: string | undefined
}

/** A refusal that leaves a changed transaction, or that waiting requests share. */
export interface StepRefusal {
  readonly kind: 'refusal'
  readonly status: number
  readonly code: string
  readonly summary: string
  readonly causes: readonly string[]
  readonly headers: Readonly<Record<string, string>>
}

export function createAnswer(body: string, rest: Partial<StepAnswer> = {}): StepAnswer {
  return { kind: 'answer', status: 200, body, headers: {}, ...rest }
}

export function toRefusal(error: BrokerError): StepRefusal {
  const { status, code, message, causes, headers } = error
  return { kind: 'refusal', status, code, summary: message, causes, headers }
}

/** Throws a refusal as the error that it was. */
export function answerOrThrow(outcome: StepOutcome): StepAnswer {
  if (outcome.kind === 'answer') return outcome
  const { status, code, summary, causes, headers } = outcome
  throw new BrokerError(status, code, summary, { causes, headers, cause: new Error('shared refusal') })
}

const strings = z.record(z.string(), z.string())

/** An outcome as it is stored. */
export const StoredOutcome: z.ZodType<StepOutcome> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('answer'),
    status: z.number(),
    body: z.string(),
    headers: strings,
    errorCode: z.string().optional(),
    sessionId: z.string().optional(),
  }),
  z.object({
    kind: z.literal('refusal'),
    status: z.number(),
    code: z.string(),
    summary: z.string(),
    causes: z.array(z.string()),
    headers: strings,
  }),
])
