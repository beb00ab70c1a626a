import { readFileSync } from 'node:fs'
import { createAjv } from './ajv.ts'

/** Checks a line of the audit log against the shipped JSON Schema, as another system would. */
export function parseAuditLine(line: Record<string, unknown>): void {
  const { event } = line
  if (typeof event !== 'string' || !Object.hasOwn(EVENTS, event))
    throw new Error(`${String(event)} is not an audit event`)
  const validate = ajv.getSchema(`${AUDIT_SCHEMA.$id}#/$defs/${event}`)
  if (validate?.(line) !== true)
    throw new Error(`${event}: ${ajv.errorsText(validate?.errors)}\n${JSON.stringify(line)}`)
}

/**
 * Checks every line that has `audit: true` or an audit event's name. Throws at the first invalid
 * one.
 */
export function checkAuditLines(lines: readonly Record<string, unknown>[]): void {
  for (const line of lines)
    if (line.audit === true || Object.hasOwn(EVENTS, String(line.event))) parseAuditLine(line)
}

export const AUDIT_SCHEMA = JSON.parse(
  readFileSync(new URL('../../docs/audit-events.schema.json', import.meta.url), 'utf8'),
)
const EVENTS: object = AUDIT_SCHEMA.$defs
// test/docs/audit.test.ts checks that the schema is valid
const ajv = createAjv({ strict: true, validateSchema: false })
ajv.addSchema(AUDIT_SCHEMA)
