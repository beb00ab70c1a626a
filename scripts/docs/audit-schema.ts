import { z } from 'zod'
import { AUDIT_EVENTS, AUDIT_LINE } from '../../src/observability/audit-events.ts'
import { VERSION } from '../../src/observability/version.ts'
import { AUDIT_FIELD_TEXTS, AUDIT_TEXTS } from './audit.ts'

export const AUDIT_SCHEMA_FILE = 'docs/audit-events.schema.json'

/** The JSON Schema of the lines of the audit log, for the systems that read them. */
export function auditSchema(): string {
  const texts: Readonly<Record<string, string>> = AUDIT_TEXTS
  const events = Object.entries(AUDIT_EVENTS).map(([event, { shape }]) => {
    const line = z.strictObject({ event: z.literal(event), ...AUDIT_LINE, ...shape })
    const { $schema: _, ...schema } = z.toJSONSchema(line, { override: describe })
    return [event, { description: `Written when ${texts[event]}.`, ...schema }] as const
  })
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'urn:gatehouse:audit-events',
    title: `A line of the audit log of Gatehouse ${VERSION}`,
    oneOf: events.map(([event]) => ({ $ref: `#/$defs/${event}` })),
    $defs: Object.fromEntries(events),
  }
  return `${JSON.stringify(schema, null, 2)}\n`
}

/**
 * Adds the meaning of each field. The format of a time or an address is enough: zod's pattern for
 * it fills a screen.
 */
function describe({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern
  const texts: Readonly<Record<string, string>> = AUDIT_FIELD_TEXTS
  for (const [name, field] of Object.entries(jsonSchema.properties ?? {}))
    if (typeof field === 'object' && texts[name] !== undefined) field.description = texts[name]
}
