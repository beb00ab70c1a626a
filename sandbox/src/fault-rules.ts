import { z } from 'zod'

const headers = z.record(z.string().min(1), z.union([z.string(), z.array(z.string())]))
const status = z.int().min(200).max(599)

/** The requests that a rule applies to: by path prefix and method, at most `times` times. */
const scope = {
  path: z.string().startsWith('/').optional(),
  method: z
    .string()
    .min(1)
    .transform((method) => method.toUpperCase())
    .optional(),
  times: z.int().min(1).optional(),
}

const { times } = scope

/** Faults of the org's deliveries to an event hook. */
export const DELIVERY_FAULT = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('late'), ms: z.number().min(0), times }),
  z.strictObject({ kind: z.enum(['twice', 'out-of-order', 'wrong-secret', 'silence']), times }),
])

export const FAULT_RULE = z.discriminatedUnion('kind', [
  z.strictObject({ ...scope, kind: z.literal('delay'), ms: z.number().min(0) }),
  z.strictObject({
    ...scope,
    kind: z.literal('status'),
    status,
    body: z.unknown().optional(),
    headers: headers.optional(),
  }),
  z.strictObject({
    ...scope,
    kind: z.literal('rate-limited'),
    retrySeconds: z.number().min(0).default(1),
    body: z.unknown().optional(),
    headers: headers.optional(),
  }),
  z.strictObject({ ...scope, kind: z.literal('html'), status: status.default(500) }),
  z.strictObject({ ...scope, kind: z.literal('cut') }),
  z.strictObject({ ...scope, kind: z.literal('half'), body: z.unknown().optional() }),
  z.strictObject({
    ...scope,
    kind: z.literal('wrong-length'),
    body: z.unknown().optional(),
    extraBytes: z.int().min(1).default(100),
  }),
  z.strictObject({ ...scope, kind: z.literal('huge'), bytes: z.int().min(16) }),
  z.strictObject({
    ...scope,
    kind: z.literal('drip'),
    everyMs: z.number().min(0),
    body: z.unknown().optional(),
  }),
  z.strictObject({ ...scope, kind: z.literal('wrong-type'), body: z.unknown().optional() }),
  z.strictObject({
    ...scope,
    kind: z.literal('error-rate'),
    share: z.number().min(0).max(1),
    status: status.default(500),
    body: z.unknown().optional(),
    headers: headers.optional(),
  }),
])

/** A rule as tests write it; parsing fills in the defaults. */
export type FaultRule = z.input<typeof FAULT_RULE>
export type ParsedFaultRule = z.output<typeof FAULT_RULE>
export type DeliveryFaultRule = z.input<typeof DELIVERY_FAULT>
export type ParsedDeliveryFault = z.output<typeof DELIVERY_FAULT>
export type FaultKind = ParsedFaultRule['kind']
export type RuleOf<K extends FaultKind> = Extract<ParsedFaultRule, { kind: K }>

/** The message names every wrong field. */
export class InvalidFaultRule extends Error {
  readonly fields: string[]
  constructor(issues: readonly { path: PropertyKey[]; message: string }[]) {
    const fields = issues.map((issue) => issue.path.map(String).join('.') || 'rule')
    super(
      `invalid fault rule: ${issues.map((issue, index) => `${fields[index]}: ${issue.message}`).join('; ')}`,
    )
    this.name = 'InvalidFaultRule'
    this.fields = fields
  }
}

/** @throws InvalidFaultRule */
export function parseFaultRule(input: FaultRule): ParsedFaultRule {
  return parseRule(FAULT_RULE, input)
}

/** @throws InvalidFaultRule */
export function parseDeliveryFault(input: DeliveryFaultRule): ParsedDeliveryFault {
  return parseRule(DELIVERY_FAULT, input)
}

function parseRule<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input)
  if (!result.success) throw new InvalidFaultRule(result.error.issues)
  return result.data
}
