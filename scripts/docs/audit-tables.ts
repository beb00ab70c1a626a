import type { z } from 'zod'
import { AUDIT_EVENTS } from '../../src/observability/audit-events.ts'
import { VERSION } from '../../src/observability/version.ts'
import { AUDIT_FIELD_TEXTS, AUDIT_TEXTS } from './audit.ts'
import { inCell, markdownTable } from './markdown.ts'

/** The events with their fields; a field that may be missing ends in `?`. */
export function auditEventsTable(): string {
  const schemas: readonly (readonly [string, z.ZodObject])[] = Object.entries(AUDIT_EVENTS)
  const texts: Readonly<Record<string, { readonly when: string }>> = AUDIT_TEXTS
  const rows = schemas.map(([event, { shape }]) => [
    `\`${event}\``,
    texts[event]?.when ?? '',
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

export function auditExamples(): string {
  const lines = Object.entries(AUDIT_TEXTS).map(([event, { example }], at) => {
    const time = new Date(Date.parse('2026-11-05T06:00:00Z') + at * 7000).toISOString()
    return JSON.stringify({
      ...{ time, level: 'info', service: 'gatehouse', version: VERSION, event },
      ...{ ...example, audit: true },
    })
  })
  return `\`\`\`json\n${lines.join('\n')}\n\`\`\``
}
