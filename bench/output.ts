import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { cores, isPinned } from './processes.ts'

/**
 * Prints the tables below a line that says when, on what and `how` they were measured, and writes
 * them to their block of docs/performance.md unless it is a dry run.
 */
export function publish(block: string, how: string, tables: readonly string[], isDry: boolean): void {
  const pinning = isPinned ? 'server pinned to one of them' : 'no pinning'
  const date = new Date().toISOString().slice(0, 10)
  const line = `${date}, Node ${process.version.slice(1)}, ${cores} cores, ${pinning}; ${how}.`
  const text = [line, ...tables].join('\n\n')
  process.stdout.write(`${text}\n\n`)
  if (isDry) return
  // seen from `build/bench/`
  const path = fileURLToPath(new URL('../../docs/performance.md', import.meta.url))
  const place = new RegExp(`(<!-- measured: ${block} -->)[^]*?(?=<!-- /measured -->)`)
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(place, (_, start: string) => `${start}\n\n${text}\n\n`),
  )
}

/** A table in Markdown; the first column to the left, figures to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, n) => (n === 0 ? '---' : '---:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

export const verdict = (isMet: boolean) => (isMet ? 'met' : '**not met**')
