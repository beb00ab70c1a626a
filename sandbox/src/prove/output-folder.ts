import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Journal } from './owned-objects.ts'
import { isRecording } from './recordings.ts'
import { mergeReports, reportJson, reportMarkdown } from './report.ts'
import type { Proof } from './run-proof.ts'

/**
 * Names what exists, or may exist, at the org, until all of it is deleted. Not for others' eyes.
 */
const JOURNAL = 'created.jsonl'

export interface OutputFolder {
  readonly journal: Journal
  /** What an earlier run wrote down and did not delete. */
  leftovers(): string[]
  /** Of what is written down, only these lines stay: the others are deleted at the org. */
  keepLeftovers(names: readonly string[]): void
  /** @throws if a value of the org is in a file, before anything is written */
  write(proofs: readonly Proof[]): void
}

export function createOutputFolder(path: string): OutputFolder {
  const journalPath = join(path, JOURNAL)
  const recordings = join(path, 'recordings')
  mkdirSync(path, { recursive: true })
  return {
    journal: {
      add(kind, name) {
        appendFileSync(journalPath, `${JSON.stringify({ kind, name })}\n`)
      },
    },
    leftovers: () => (existsSync(journalPath) ? namesIn(readFileSync(journalPath, 'utf8')) : []),
    keepLeftovers(names) {
      if (names.length === 0) return rmSync(journalPath, { force: true })
      if (!existsSync(journalPath)) return
      const lines = readFileSync(journalPath, 'utf8').split('\n')
      const kept = lines.filter((line) => line !== '' && names.includes(nameIn(line)))
      writeFileSync(journalPath, kept.map((line) => `${line}\n`).join(''))
    },
    write(proofs) {
      const report = mergeReports(proofs.map((proof) => proof.report))
      const replaced = (text: string) =>
        proofs.reduce((each, { pseudonyms }) => pseudonyms.replace(each), text)
      const files = new Map([
        ['report.md', replaced(reportMarkdown(report))],
        ['report.json', replaced(reportJson(report))],
        ...proofs
          .flatMap(({ recordings }) => [...recordings.files()])
          .map(([name, text]) => [join('recordings', name), text] as const),
      ])
      for (const [name, text] of files) {
        const found = proofs.flatMap(({ pseudonyms }) => pseudonyms.findIn(text)).length
        if (found > 0) throw new Error(`${name} would have ${found} value(s) of the org: nothing was written`)
      }
      mkdirSync(recordings, { recursive: true })
      for (const name of readdirSync(recordings)) if (isRecording(name)) rmSync(join(recordings, name))
      for (const [name, text] of files) writeFileSync(join(path, name), text)
    },
  }
}

function namesIn(journal: string): string[] {
  return journal
    .split('\n')
    .filter((line) => line !== '')
    .map(nameIn)
}

function nameIn(line: string): string {
  return String(Reflect.get(Object(JSON.parse(line)), 'name'))
}
