import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PLACEHOLDER_ORIGIN, replayAnswer } from './replay-answers.ts'

const HELP = `npm run replay -- DIR…

Sends every *.json file of a folder, and of the folders in it, through the code that makes an upstream answer fit for
a browser, as if the upstream had just said it, and reports what did not come out sound: a token, a link that still
names the upstream, a lost or changed member, an offered step that could not be taken.

A host that was left open, such as https://{yourOktaDomain}, is taken for the upstream (${PLACEHOLDER_ORIGIN} is put in
its place before the file is parsed); so is every host under which the answer links to /api/v1/.

One line a file: ok, findings, not JSON, not an object (the broker answers 502 to those two), then the counts.
Exit code 0: all sound; 1: findings; 2: nothing to replay.
`

export interface ReplayResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Replays every *.json file of these folders, and of the folders in them. */
export function replayFolders(folders: readonly string[]): ReplayResult {
  const errors: string[] = []
  const files = folders.flatMap((folder) => jsonFilesIn(folder, errors)).sort()
  if (files.length === 0) {
    errors.push(folders.length === 0 ? HELP : `No *.json file in ${folders.join(', ')}\n`)
    return { code: 2, out: '', err: errors.join('') }
  }
  const counts = { ok: 0, findings: 0, 'not JSON': 0, 'not an object': 0 }
  const lines: string[] = []
  for (const file of files) {
    const verdict = replayAnswer(readFileSync(file, 'utf8'))
    counts[verdict.kind] += 1
    const notes = 'notes' in verdict && verdict.notes.length > 0 ? ` (${verdict.notes.join('; ')})` : ''
    lines.push(`${verdict.kind.padEnd(13)} ${file}${notes}`)
    if ('findings' in verdict) lines.push(...verdict.findings.map((finding) => `    ${finding}`))
  }
  const summary = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`)
  lines.push(`${files.length} files: ${summary.join(', ')}\n`)
  return { code: counts.findings > 0 ? 1 : 0, out: lines.join('\n'), err: errors.join('') }
}

function jsonFilesIn(folder: string, errors: string[]): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return jsonFilesIn(path, errors)
      return entry.name.endsWith('.json') ? [path] : []
    })
  } catch (error) {
    errors.push(`${folder}: ${error instanceof Error ? error.message : String(error)}\n`)
    return []
  }
}
