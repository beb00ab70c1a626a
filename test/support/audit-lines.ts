import { readFileSync } from 'node:fs'
import { createAjv } from './ajv.ts'

/** Checks a line of the audit log against the shipped JSON Schema, as another system would. */
export function parseAuditLine(line: Record<string, unknown>): void {
  const { event } = line
  if (typeof event !== 'string' || !Object.hasOwn(EVENTS, event))
    throw new Error(`${String(event)} is not an audit event`)
  const validate = ajv.getSchema(`${SCHEMA.$id}#/$defs/${event}`)
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

const SCHEMA = JSON.parse(
  readFileSync(new URL('../../docs/audit-events.schema.json', import.meta.url), 'utf8'),
)
const EVENTS: object = SCHEMA.$defs
const ajv = createAjv({ strict: true })
ajv.addSchema(SCHEMA)
