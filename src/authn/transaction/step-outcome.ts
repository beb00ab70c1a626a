import { z } from 'zod'
import { BrokerError } from '../../errors.ts'
import { parseStored } from '../../store/stored-json.ts'

/** How a step ended, as data: it can be handed to equal requests, on this replica or another one. */
export type StepOutcome = StepAnswer | StepRefusal

export interface StepAnswer {
  readonly kind: 'answer'
  readonly status: number
  /** Serialized, guarded, ready to be sent. */
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly errorCode: string | undefined
  /** The id of the session that this step opened. */
  readonly sessionId: string | undefined
}

export interface StepRefusal {
  readonly kind: 'refusal'
  readonly status: number
  readonly code: string
  readonly summary: string
  readonly causes: readonly string[]
  readonly headers: Readonly<Record<string, string>>
}

export function refusalOf(error: BrokerError): StepRefusal {
  const { status, code, message, causes, headers } = error
  return { kind: 'refusal', status, code, summary: message, causes, headers }
}

export function errorOf({ status, code, summary, causes, headers }: StepRefusal): BrokerError {
  return new BrokerError(status, code, summary, { causes, headers, cause: new Error('shared refusal') })
}

const strings = z.record(z.string(), z.string())
const StoredOutcome = z.discriminatedUnion('kind', [
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

export function encodeOutcome(outcome: StepOutcome): string {
  return JSON.stringify(outcome)
}

/** undefined: not an outcome of this version; the step is then taken anew. */
export function decodeOutcome(text: string): StepOutcome | undefined {
  const { success, data } = StoredOutcome.safeParse(parseStored(text))
  if (!success) return undefined
  return data.kind === 'answer' ? { ...data, errorCode: data.errorCode, sessionId: data.sessionId } : data
}
