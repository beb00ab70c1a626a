import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { coreFiles, files, linesOf, longBodies, longFiles } from './code-size.mjs'
import { stepFigures } from './step-figures.mjs'

/**
 * `npm run figures`: the sizes with their goals, and what exceeds one
 * (docs/architecture.md#code-size).
 */

const NO_TEXT = /<!-- (generated|measured): [\s\S]*?<!-- \/\1 -->|```[\s\S]*?```/g
/** Pages whose tables a test compares with the code. */
const REFERENCE_PAGES = ['docs/configuration.md', 'docs/sandbox.md']

const linesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(
      (each) => each.isFile() && /\.(ts|mjs|json)$/.test(each.name) && each.name !== 'package-lock.json',
    )
    .map((each) => `${each.parentPath}/${each.name}`)
    .filter((path) => !path.includes('/node_modules/'))
    .reduce((lines, path) => lines + linesOf(path), 0)
const sum = (paths) => paths.reduce((lines, path) => lines + linesOf(path), 0)
function wordsIn(path) {
  const text = readFileSync(path, 'utf8').replace(NO_TEXT, '')
  const own = REFERENCE_PAGES.includes(path) ? text.replace(/^\|.*$/gm, '') : text
  return own.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}
const pages = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).trim().split('\n')
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const leaves = (value) =>
  typeof value === 'object' ? Object.values(value).reduce((count, each) => count + leaves(each), 0) : 1

const sumOf = (...folders) => sum(files.filter((path) => folders.includes(path.split('/')[1])))
const { costs, ran, enteredTwice } = await stepFigures()

console.log(`| figure | goal | now |
|---|--:|--:|
| lines of \`src/\` without sandbox and demo | | ${sum(files)} |
| the same without the features beyond the core | 16,000 | ${sum(coreFiles)} |
| lines of \`authn\`, \`store\` and \`upstream\` | 8,000 | ${sumOf('authn', 'store', 'upstream')} |
| lines of \`pam\` | 2,000 | ${sumOf('pam')} |
| files that a password step runs through, with Redis | 40 | ${ran.length} |
| files that are entered twice in it | 0 | ${enteredTwice.length} |
| Redis round trips of a password step | 4 | ${costs['password that opens a session'].roundTrips} |
| lines of \`src/config/\` | 800 | ${sum(files.filter((path) => path.startsWith('src/config/')))} |
| tunables | 50 | ${leaves(JSON.parse(readFileSync('config/default.json', 'utf8')))} |
| lines of \`test/\` | 40,000 | ${linesIn('test')} |
| lines of \`scripts/\` | 2,000 | ${linesIn('scripts')} |
| lines of \`bench/\` | 1,800 | ${linesIn('bench')} |
| words of all pages, without code, generated and reference tables | 18,000 | ${pages.reduce((words, page) => words + wordsIn(page), 0)} |
| production dependencies | 19 | ${Object.keys(dependencies).length} |
| function bodies over 40 lines | 0 | ${longBodies().length} |
| files over 250 lines | 0 | ${longFiles().length} |

| step | Redis commands | round trips |
|---|--:|--:|`)
for (const [step, { commands, roundTrips }] of Object.entries(costs))
  console.log(`| ${step} | ${commands} | ${roundTrips} |`)
console.log()
for (const line of [...longFiles(), ...longBodies()]) console.log(line)
for (const path of ran) console.log(`in a password step: ${path}`)
for (const path of enteredTwice) console.log(`entered twice: ${path.join(' > ')}`)
