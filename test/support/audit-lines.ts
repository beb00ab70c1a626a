import { z } from 'zod'
import { AUDIT_EVENTS, type AuditEvent } from '../../src/observability/audit-events.ts'

/** A whole line of the audit log, as strict as its event's schema. */
export function parseAuditLine(line: Record<string, unknown>): void {
  const { event } = line
  if (!isAuditEvent(event)) throw new Error(`${String(event)} is no audit event`)
  const schema = schemas.get(event) ?? AUDIT_EVENTS[event].extend(everyLine).strict()
  schemas.set(event, schema) // zod compiles a new one: that takes longer than many lines
  const result = schema.safeParse(line)
  if (!result.success) throw new Error(`${event}: ${z.prettifyError(result.error)}\n${JSON.stringify(line)}`)
}

/** Every line that says it is one, and every line whose event is one; throws at the first that is not as it should be. */
export function checkAuditLines(lines: readonly Record<string, unknown>[]): void {
  for (const line of lines) if (line.audit === true || isAuditEvent(line.event)) parseAuditLine(line)
}

const everyLine = {
  time: z.iso.datetime(),
  level: z.literal('info'),
  event: z.string(),
  audit: z.literal(true),
}

const schemas = new Map<AuditEvent, z.ZodType>()

function isAuditEvent(event: unknown): event is AuditEvent {
  return typeof event === 'string' && Object.hasOwn(AUDIT_EVENTS, event)
}
