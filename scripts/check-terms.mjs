import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { EXCEPTIONS, TERMS } from './terms.mjs'

/**
 * `npm run terms -- [path…]`: finds words of `terms.mjs` in the names and the texts of the repository's files, as `path:line: found,
 * write instead`. Exit code 1 if there is one.
 */

const CHECKED =
  /^(src|test|docs|deploy|bench|scripts|config|tools|examples|client)\/|^[^/]+\.(md|mjs|json)$|^(Dockerfile|\.env\.example)$/
/** Files that are generated, or that quote Okta word for word. */
const UNCHECKED = /^package-lock\.json$|(^|\/)LICENSE$|\.(png|ico|svg|woff2?)$/

/** The words of `TERMS` in one text, with the number of their line; line 0 is the path itself. */
export function findTerms(path, text) {
  const lines = [path, ...text.split('\n')]
  return lines.flatMap((line, number) => {
    const words = wordsOf(line)
    const found = TERMS.flatMap(({ not, use }) => {
      const [match] = not.exec(words) ?? []
      return match === undefined || isException(path, line)
        ? []
        : [{ line: number, found: match.trim(), use }]
    })
    return found
  })
}

/** `hasTrickyName` and `tricky_name` as separate words; everything else stays. */
function wordsOf(line) {
  return line.replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').replaceAll('_', ' ')
}

function isException(path, line) {
  return EXCEPTIONS.some((exception) => path === exception.path && line.includes(exception.text))
}

function main(paths) {
  const listed = execFileSync('git', [
    'ls-files',
    '--cached',
    '--others',
    '--exclude-standard',
    '--',
    ...paths,
  ])
  const files = listed.toString().trim().split('\n')
  const problems = files
    .filter((path) => CHECKED.test(path) && !UNCHECKED.test(path) && existsSync(path))
    .flatMap((path) =>
      findTerms(path, readFileSync(path, 'utf8')).map(
        ({ line, found, use }) => `${path}:${line}: "${found}", write instead: ${use}`,
      ),
    )
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) {
    console.error(`\n${problems.length} words that docs/glossary.md replaces. Exceptions: scripts/terms.mjs`)
    process.exitCode = 1
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv.slice(2))
