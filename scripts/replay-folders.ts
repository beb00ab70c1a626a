import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PLACEHOLDER_ORIGIN, replayAnswer } from './replay-answers.ts'

const HELP = `npm run replay -- DIR…

Processes all *.json files in these folders and their subfolders with the broker's code for upstream responses, and
reports problems in the output: a token, a link to the upstream, a missing or changed member, an offered step that
cannot be taken.

A placeholder host, such as https://{yourOktaDomain}, is the upstream (replaced with ${PLACEHOLDER_ORIGIN} before the
file is parsed), and so is every host in links to /api/v1/.

Prints one line per file: ok, findings, not JSON, or not an object (the broker responds 502 to the last two), then the
counts. Exit code 0: no findings; 1: findings; 2: nothing to replay.
`

/** Replays all *.json files in these folders and their subfolders. */
export function replayFolders(folders: readonly string[]) {
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
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    return names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name))
  } catch (error) {
    errors.push(`${folder}: ${error instanceof Error ? error.message : String(error)}\n`)
    return []
  }
}
