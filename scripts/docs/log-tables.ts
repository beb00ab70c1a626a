import { AUDIT_FIELD_TEXTS } from './audit.ts'
import { LOG_EVENT_TEXTS } from './log-events.ts'
import { AUDIT_FIELD_NAMES, LOG_FIELD_TEXTS } from './log-fields.ts'
import { inCell, markdownTable } from './markdown.ts'

/** An event with two levels has two rows. */
export function logEventsTable(): string {
  const rows = Object.entries(LOG_EVENT_TEXTS).flatMap(([level, events]) =>
    Object.entries<string>(events).map(([event, text]) => {
      const [meaning = '', action = ''] = text.split(' → ')
      return [`\`${event}\``, level, inCell(meaning), inCell(action)]
    }),
  )
  return markdownTable(['event', 'level', 'meaning', 'what to do'], rows)
}

export function logFieldsTable(): string {
  const auditTexts: Readonly<Record<string, string>> = AUDIT_FIELD_TEXTS
  const audit = Object.entries(AUDIT_FIELD_NAMES).map(
    ([name, names]) => [name, { meaning: auditTexts[name] ?? '', ...names }] as const,
  )
  const rows = [...Object.entries(LOG_FIELD_TEXTS), ...audit].map(([name, { meaning, ecs, otel }]) => [
    `\`${name}\``,
    inCell(meaning),
    inCode(ecs),
    inCode(otel),
  ])
  return markdownTable(['field', 'meaning', 'ECS', 'OpenTelemetry'], rows)
}

const inCode = (name: string | undefined) => (name === undefined ? '–' : `\`${name}\``)
