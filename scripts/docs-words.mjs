import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Prints how many words each Markdown page has, without its generated blocks. Fails if all pages together have too many. */
const MAX_WORDS = 25_000

const pages = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).trim().split('\n')

function wordsIn(page) {
  const text = readFileSync(page, 'utf8').replace(/<!-- generated: [\s\S]*?<!-- \/generated -->/g, '')
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

const counts = pages.map((page) => [page, wordsIn(page)]).sort(([, one], [, other]) => other - one)
const total = counts.reduce((sum, [, words]) => sum + words, 0)
const isVerbose = process.argv.includes('--verbose')
if (isVerbose || total > MAX_WORDS) {
  for (const [page, words] of counts) console.log(`${String(words).padStart(6)}  ${page}`)
}
console.log(`${total} words in ${pages.length} pages, of at most ${MAX_WORDS}`)
if (total > MAX_WORDS) process.exitCode = 1
