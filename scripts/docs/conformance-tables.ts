import { type ConformanceSource, PARTS, type Proof, rowsOf } from './conformance-list.ts'
import { inCell, markdownTable } from './markdown.ts'

/** How much of each source is shown by tests, then every row. */
export function conformanceTables(sources: readonly ConformanceSource[]): string {
  return [summary(sources), ...sources.map(table)].join('\n\n')
}

function summary(sources: readonly ConformanceSource[]): string {
  const rows = sources.flatMap((source) => [
    [`**${source.letter}**`, `**${source.title}**: ${source.source}`, ...counts(rowsOf(source))],
    ...source.sections.map(({ heading, rows }, at) => [
      `${source.letter}-${at + 1}`,
      heading,
      ...counts(rows),
    ]),
  ])
  return `## Summary\n\n${markdownTable(['', '', '>rows', '>sandbox, by test', '>broker, by test'], rows)}`
}

function counts(rows: ReturnType<typeof rowsOf>): string[] {
  return [
    rows.length,
    ...PARTS.map((part) => rows.filter((row) => typeof row[part] === 'object').length),
  ].map(String)
}

function table(source: ConformanceSource): string {
  const rows = rowsOf(source).map(({ id, text, sandbox, broker }) => [
    id,
    inCell(text),
    proofCell(sandbox),
    proofCell(broker),
  ])
  return `## ${source.title} (${source.letter})\n\n${markdownTable(['', 'fact', 'sandbox', 'broker'], rows)}`
}

function proofCell(proof: Proof): string {
  if (typeof proof === 'string') return `*${inCell(proof)}*`
  return Object.keys(proof)
    .map((file) => file.replace(/^test\/(sandbox\/)?|(\.test)?\.ts$/g, ''))
    .join(', ')
}
