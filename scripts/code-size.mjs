import { readdirSync, readFileSync } from 'node:fs'
import { parseSync } from '@swc/core'

/** The size of the broker's code, for `npm run figures` and test/scripts/code-size.test.ts. */

export const MAX_BODY_LINES = 80
export const MAX_FILE_LINES = 800
/** Composition roots are long, but have no logic. */
const COMPOSITION_ROOTS = /^src\/(wiring|app|ops|authn\/create-authn|pam\/create-pam)\.ts$/

export const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/^(sandbox|sandbox-package|demo)\//.test(name))
  .map((name) => `src/${name}`)
  .sort()

/** Features beyond the core, which the goal for the size of `src/` does not count. */
const BEYOND_CORE = [
  'src/authn/redirects/return-to.ts',
  'src/observability/tracing.ts',
  'src/forward-auth/forward-auth-rules.ts',
  'src/forward-auth/identity-token.ts',
  'src/pam/app-routes.ts',
  ...['create-org-events', 'org-events', 'org-event-routes', 'apply-org-events', 'recheck', 'void-times'].map(
    (name) => `src/org-events/${name}.ts`,
  ),
]
export const coreFiles = files.filter((path) => !BEYOND_CORE.includes(path))

const linesIn = (text) => text.toString().split('\n').length - 1
export const linesOf = (path) => linesIn(readFileSync(path))

/** The number of lines in the body of each function of a file, with its location. */
function bodiesIn(path) {
  const text = readFileSync(path)
  const bodies = []
  const visit = (node) => {
    if (typeof node !== 'object' || node === null) return
    if (node.type === 'FunctionBody') {
      // the parser counts bytes from 1
      const [start, end] = [node.span.start - 1, node.span.end - 1]
      const place = `${path}:${linesIn(text.subarray(0, start)) + 1}`
      bodies.push({ place, lines: linesIn(text.subarray(start, end)) - 1 })
    }
    for (const member of Object.values(node)) visit(member)
  }
  visit(parseSync(text.toString(), { syntax: 'typescript', target: 'es2022' }))
  return bodies
}

/** Files that are too long, as `path: lines`. */
export const longFiles = () =>
  files.filter((path) => linesOf(path) > MAX_FILE_LINES).map((path) => `${path}: ${linesOf(path)} lines`)

/** Function bodies that are too long, as `path:line: lines`. */
export const longBodies = () =>
  files
    .filter((path) => !COMPOSITION_ROOTS.test(path))
    .flatMap(bodiesIn)
    .filter(({ lines }) => lines > MAX_BODY_LINES)
    .map(({ place, lines }) => `${place}: a body of ${lines} lines`)
