import { readdirSync, readFileSync } from 'node:fs'

const FOLDER = 'docs/decisions'

/** Links to the decision records by their titles; records that a later one supersedes come last, by their numbers. */
export function decisionsIndex(): string {
  const records = readdirSync(FOLDER)
    .filter((file) => /^\d{4}-/.test(file))
    .sort()
    .map((file) => {
      const text = readFileSync(`${FOLDER}/${file}`, 'utf8')
      const title = /^# (.+)$/m.exec(text)?.[1] ?? file
      return { file, title, isSuperseded: /^(Superseded by|Merged into) /m.test(text) }
    })
  const current = records.filter(({ isSuperseded }) => !isSuperseded)
  const superseded = records.filter(({ isSuperseded }) => isSuperseded)
  return [
    ...current.map(({ title, file }) => `- [${title}](${file})`),
    '',
    `Superseded or merged: ${superseded.map(({ file }) => `[${file.slice(0, 4)}](${file})`).join(', ')}.`,
  ].join('\n')
}
