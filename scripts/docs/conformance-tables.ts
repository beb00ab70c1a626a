import { type ConformanceRow, type ConformanceSource, PARTS, rowsOf, whyNoTest } from './conformance-list.ts'
import { inCell, markdownTable } from './markdown.ts'
import { filesThatShow, type Part, type Shown } from './shown-by-tests.ts'

/** How much of each source is shown by tests, then every row. */
export function conformanceTables(sources: readonly ConformanceSource[], shown: readonly Shown[]): string {
  return [summary(sources), ...sources.map((source) => table(source, shown))].join('\n\n')
}

function summary(sources: readonly ConformanceSource[]): string {
  const rows = sources.flatMap((source) => [
    [`**${source.letter}**`, `**${source.title}**: ${source.source}`, ...counts(rowsOf(source))],
    ...source.sections.map(({ id, heading, rows }) => [id, heading, ...counts(rows)]),
  ])
  return `## Summary\n\n${markdownTable(['', '', '>rows', '>sandbox, by test', '>broker, by test'], rows)}`
}

function counts(rows: readonly ConformanceRow[]): string[] {
  return [
    rows.length,
    ...PARTS.map((part) => rows.filter((row) => whyNoTest(row, part) === undefined).length),
  ].map(String)
}

function table(source: ConformanceSource, shown: readonly Shown[]): string {
  const rows = rowsOf(source).map((row) => [
    row.id,
    inCell(row.text),
    ...PARTS.map((part) => proofCell(row, part, shown)),
  ])
  return `## ${source.title} (${source.letter})\n\n${markdownTable(['', 'fact', 'sandbox', 'broker'], rows)}`
}

function proofCell(row: ConformanceRow, part: Part, shown: readonly Shown[]): string {
  const reason = whyNoTest(row, part)
  return reason === undefined ? filesThatShow(shown, part, row.id).join(', ') : `*${inCell(reason)}*`
}
