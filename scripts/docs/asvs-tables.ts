import { type AsvsList, type AsvsRow, NOTES } from './asvs-list.ts'
import { inCell, markdownTable } from './markdown.ts'
import { filesThatShow, type Shown } from './shown-by-tests.ts'

export function asvsTables(list: AsvsList, shown: readonly Shown[]): string {
  return list
    .map(({ heading, rows }) => {
      const cells = rows.map((row) => [row.id, inCell(row.text), howItIsMet(row, shown)])
      return `## ${heading}\n\n${markdownTable(['id', 'requirement, in short', 'how it is met'], cells)}`
    })
    .join('\n\n')
}

function howItIsMet(row: AsvsRow, shown: readonly Shown[]): string {
  const notes = NOTES.flatMap((note) => {
    const reason = row[note]
    return reason === undefined ? [] : [`**${note}**: ${inCell(reason)}`]
  })
  const files = filesThatShow(shown, 'broker', row.id).join(', ')
  return [...notes, files].filter((part) => part !== '').join('<br>')
}
