import { z } from 'zod'
import { AUDIT_EVENTS, type AuditEvent } from '../../src/observability/audit-events.ts'

/** Parses a line of the audit log by its event's strict schema. */
export function parseAuditLine(line: Record<string, unknown>): void {
  const { event } = line
  if (!isAuditEvent(event)) throw new Error(`${String(event)} is not an audit event`)
  const schema = schemas.get(event) ?? AUDIT_EVENTS[event].extend(everyLine).strict()
  schemas.set(event, schema) // cached: compiling a schema takes longer than parsing many lines
  const result = schema.safeParse(line)
  if (!result.success) throw new Error(`${event}: ${z.prettifyError(result.error)}\n${JSON.stringify(line)}`)
}

/** Parses every line that has `audit: true` or an audit event's name. Throws at the first invalid one. */
export function checkAuditLines(lines: readonly Record<string, unknown>[]): void {
  for (const line of lines) if (line.audit === true || isAuditEvent(line.event)) parseAuditLine(line)
}

const everyLine = {
  time: z.iso.datetime(),
  level: z.literal('info'),
  service: z.literal('gatehouse'),
  version: z.string(),
  event: z.string(),
  trace_id: z.string().optional(),
  audit: z.literal(true),
}

const schemas = new Map<AuditEvent, z.ZodType>()

function isAuditEvent(event: unknown): event is AuditEvent {
  return typeof event === 'string' && Object.hasOwn(AUDIT_EVENTS, event)
}
