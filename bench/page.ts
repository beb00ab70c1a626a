import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where a run leaves its figures: `docs/`, seen from `build/bench/`. */
const at = (file: string) => fileURLToPath(new URL(`../../docs/${file}`, import.meta.url))

export function writeDoc(file: string, content: string): void {
  mkdirSync(dirname(at(file)), { recursive: true })
  writeFileSync(at(file), content)
}

/** Replaces what stands between `<!-- NAME:begin … -->` and `<!-- NAME:end -->`; everything else is by hand. */
export function writeBlock(file: string, name: string, markdown: string): void {
  const page = readFileSync(at(file), 'utf8')
  const begin = page.indexOf(`<!-- ${name}:begin`)
  const bodyAt = page.indexOf('-->', begin) + '-->'.length
  const end = page.indexOf(`<!-- ${name}:end -->`)
  if (begin < 0 || end < bodyAt) throw new Error(`docs/${file} has no place for ${name}`)
  writeFileSync(at(file), `${page.slice(0, bodyAt)}\n\n${markdown.trim()}\n\n${page.slice(end)}`)
}

/** A table in Markdown; the first column to the left, figures to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, n) => (n === 0 ? '---' : '---:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
