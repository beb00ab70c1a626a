import type { z } from 'zod'
import { AUDIT_EVENTS } from '../../src/observability/audit-events.ts'
import { AUDIT_FIELD_TEXTS, AUDIT_TEXTS } from './audit.ts'
import { inCell, markdownTable } from './markdown.ts'

/** The events with their fields; a field that may be missing ends in `?`. */
export function auditEventsTable(): string {
  const schemas: readonly (readonly [string, z.ZodObject])[] = Object.entries(AUDIT_EVENTS)
  const texts: Readonly<Record<string, string>> = AUDIT_TEXTS
  const rows = schemas.map(([event, { shape }]) => [
    `\`${event}\``,
    texts[event] ?? '',
    Object.entries(shape)
      .map(([name, schema]) => `\`${name}${schema.safeParse(undefined).success ? '?' : ''}\``)
      .join(', '),
  ])
  return markdownTable(['event', 'written when', 'fields'], rows)
}

export function auditFieldsTable(): string {
  const rows = Object.entries(AUDIT_FIELD_TEXTS).map(([name, text]) => [`\`${name}\``, inCell(text)])
  return markdownTable(['field', 'value'], rows)
}
