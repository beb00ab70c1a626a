import { z } from 'zod'
import type { BrokerError } from '../../errors.ts'

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

/**
 * The response to the browser, as data. Identical requests share it, on this replica and on others.
 */
export const StepOutcome = z.discriminatedUnion('kind', [StepAnswer, StepRefusal])
export type StepOutcome = StepAnswer | StepRefusal

export function createAnswer(body: string, rest: Partial<StepAnswer> = {}): StepAnswer {
  return { kind: 'answer', status: 200, body, headers: {}, ...rest }
}

export function toRefusal(error: BrokerError): StepRefusal {
  const { status, code, message, causes, headers } = error
  return { kind: 'refusal', status, code, summary: message, causes, headers }
}
