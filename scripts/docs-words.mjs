import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Counts the words of all Markdown pages without their generated blocks. Fails if there are too many: shorter pages are read.
 * `--verbose` prints the words of each page.
 */
const MAX_WORDS = 25_000
const NOT_OURS = new Set(['node_modules', 'build', 'dist', 'coverage', 'test-results'])

function pagesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory())
      return NOT_OURS.has(entry.name) || entry.name.startsWith('.') ? [] : pagesIn(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

function wordsIn(page) {
  const text = readFileSync(page, 'utf8').replace(/<!-- generated: [\s\S]*?<!-- \/generated -->/g, '')
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

const counts = pagesIn('.').map((page) => [page, wordsIn(page)])
const total = counts.reduce((sum, [, words]) => sum + words, 0)
if (process.argv.includes('--verbose') || total > MAX_WORDS) {
  for (const [page, words] of counts.sort(([, one], [, other]) => other - one)) {
    console.log(`${String(words).padStart(6)}  ${page}`)
  }
}
if (total > MAX_WORDS) {
  console.error(`The pages have ${total} words, more than ${MAX_WORDS}.`)
  process.exitCode = 1
} else console.log(`The pages have ${total} words, of at most ${MAX_WORDS}.`)
