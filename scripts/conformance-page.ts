import { type ConformanceSource, PARTS, type Proof, rowsOf } from './conformance-list.ts'

/** docs/conformance.md: how much of each source is shown by tests, then every row. */
export function conformancePage(sources: readonly ConformanceSource[]): string {
  return `${[INTRODUCTION, summary(sources), ...sources.map(table)].join('\n\n')}\n`
}

const INTRODUCTION = `# Conformance

<!-- Made by \`npm run conformance\` from docs/conformance/*.json: edit those. -->

Every fact that Gatehouse has to conform to, and the tests that show it for the **sandbox**, which simulates both APIs,
and for the **broker**. The broker keeps the real \`stateToken\`, \`sessionToken\` and \`recoveryToken\`, and its links lead to
its own address: where a row names one of these, the broker's test shows what the browser gets instead.

The tables name the test files, without \`test/\`, \`sandbox/\` and \`.test.ts\`; the titles of the tests are in
\`docs/conformance/*.json\`. A sentence in *italics* says why no test can show the row. \`test/conformance.test.ts\` checks
that every named test exists, that every row has a test or a reason for both parts, and that this page is up to date.`

function summary(sources: readonly ConformanceSource[]): string {
  const lines = sources.flatMap((source) => [
    `| **${source.letter}** | **${source.title}**: ${source.source} | ${counts(rowsOf(source)).join(' | ')} |`,
    ...source.sections.map(
      ({ heading, rows }, at) => `| ${source.letter}-${at + 1} | ${heading} | ${counts(rows).join(' | ')} |`,
    ),
  ])
  return [
    '## Summary',
    '',
    '| | | rows | sandbox, by test | broker, by test |',
    '|---|---|--:|--:|--:|',
    ...lines,
  ].join('\n')
}

function counts(rows: ReturnType<typeof rowsOf>): number[] {
  return [rows.length, ...PARTS.map((part) => rows.filter((row) => typeof row[part] === 'object').length)]
}

function table(source: ConformanceSource): string {
  return [
    `## ${source.title} (${source.letter})`,
    '',
    '| | fact | sandbox | broker |',
    '|---|---|---|---|',
    ...rowsOf(source).map(
      ({ id, text, sandbox, broker }) =>
        `| ${[id, inCell(text), proofCell(sandbox), proofCell(broker)].join(' | ')} |`,
    ),
  ].join('\n')
}

function proofCell(proof: Proof): string {
  if (typeof proof === 'string') return `*${inCell(proof)}*`
  return Object.keys(proof)
    .map((file) => file.replace(/^test\/(sandbox\/)?|(\.test)?\.ts$/g, ''))
    .join(', ')
}

function inCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
