import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Writes the results of a run to a file in `docs/`. `npm run docs` makes the tables and charts of the pages from it. */
export function writeResults(file: string, results: object): void {
  const path = fileURLToPath(new URL(`../../docs/${file}`, import.meta.url)) // seen from `build/bench/`
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`)
  process.stdout.write(`Written: docs/${file}. Now run: npm run docs\n`)
}

/** A table in Markdown; the first column to the left, figures to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, n) => (n === 0 ? '---' : '---:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
