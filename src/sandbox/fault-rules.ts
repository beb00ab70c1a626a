import { z } from 'zod'

const headers = z.record(z.string().min(1), z.union([z.string(), z.array(z.string())]))
const status = z.int().min(200).max(599)

/** Every kind may be narrowed by path prefix and method, and limited to so many times. */
const scope = {
  path: z.string().startsWith('/').optional(),
  method: z
    .string()
    .min(1)
    .transform((method) => method.toUpperCase())
    .optional(),
  times: z.int().min(1).optional(),
}

const faultRule = z.discriminatedUnion('kind', [
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

/** What a caller may write; defaults are filled in by the check. */
export type FaultRule = z.input<typeof faultRule>
export type ParsedFaultRule = z.output<typeof faultRule>
export type Kind = ParsedFaultRule['kind']
export type RuleOf<K extends Kind> = Extract<ParsedFaultRule, { kind: K }>

/** A rule that cannot be taken. The message names every field that is wrong. */
export class InvalidFaultRule extends Error {
  readonly fields: string[]
  constructor(issues: readonly { path: PropertyKey[]; message: string }[]) {
    const fields = issues.map((issue) => issue.path.map(String).join('.') || 'rule')
    super(`bad fault rule: ${issues.map((issue, at) => `${fields[at]}: ${issue.message}`).join('; ')}`)
    this.name = 'InvalidFaultRule'
    this.fields = fields
  }
}

/** Throws `InvalidFaultRule`. */
export function parseFaultRule(input: FaultRule): ParsedFaultRule {
  const result = faultRule.safeParse(input)
  if (!result.success) throw new InvalidFaultRule(result.error.issues)
  return result.data
}
