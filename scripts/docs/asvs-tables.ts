import type { AsvsList, AsvsRow } from './asvs-list.ts'
import { inCell, markdownTable } from './markdown.ts'

export function asvsTables({ chapters }: AsvsList): string {
  return chapters
    .map(
      ({ heading, rows }) =>
        `## ${heading}\n\n${markdownTable(['id', 'requirement, in short', 'how it is met'], rows.map(cellsOf))}`,
    )
    .join('\n\n')
}

function cellsOf({ id, text, notes, tests }: AsvsRow): string[] {
  const reasons = Object.entries(notes).map(([kind, reason]) => `**${kind}**: ${inCell(reason)}`)
  const files = Object.keys(tests).map((file) => file.replace(/^test\/|\.test\.ts$/g, ''))
  return [id, inCell(text), [...reasons, files.join(', ')].filter((part) => part !== '').join('<br>')]
}
