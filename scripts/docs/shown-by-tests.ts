import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folders whose tests may say what they show: the roots of Jest. */
export const TEST_ROOTS = ['test', 'client/test', 'demo/test', 'sandbox/test'] as const

/** The broker, or the simulation of Okta's APIs. */
export type Part = 'broker' | 'sandbox'

/** A requirement that a test shows. */
export interface Shown {
  readonly part: Part
  readonly id: string
  readonly file: string
  readonly line: number
  /** Whether a test, or a row of its table, is directly below. */
  readonly aboveTest: boolean
}

/** What the tests of the project show, in the order of their files. */
export function readShown(root = '.'): Shown[] {
  return TEST_ROOTS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
      .sort()
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
      .flatMap((file) => shownIn(file, readFileSync(join(root, file), 'utf8'))),
  )
}

/** Such as "// shows, V2.1.3", and "// sandbox shows: A-1.2". */
const TAG = /^\s*\/\/ (sandbox )?shows:(.*)$/

/** The requirements that the comments of a test file name. */
export function shownIn(file: string, text: string): Shown[] {
  const lines = text.split('\n')
  return lines.flatMap((line, at) => {
    const [tag, sandbox, ids = ''] = TAG.exec(line) ?? []
    if (tag === undefined) return []
    const below = lines.slice(at + 1).find((next) => !TAG.test(next)) ?? ''
    return ids.split(',').map((id) => ({
      part: sandbox === undefined ? ('broker' as const) : ('sandbox' as const),
      id: id.trim(),
      file,
      line: at + 1,
      aboveTest: /^\s*[\w'"`[{]/.test(below),
    }))
  })
}

/** A row of a list of requirements, for one part. */
export interface Requirement {
  readonly part: Part
  readonly id: string
  /** What the row says: that it needs a test, that no test can show it, or that it may have one. */
  readonly test: 'needed' | 'impossible' | 'optional'
}

/** What is wrong with the comments of the tests and with the rows, one sentence each. */
export function problemsWith(requirements: readonly Requirement[], shown: readonly Shown[]): string[] {
  const keyOf = ({ part, id }: { part: Part; id: string }) => `${id} (${part})`
  const known = new Set(requirements.map(keyOf))
  const tested = new Set(shown.map(keyOf))
  return [
    ...requirements
      .filter((row, at) => requirements.findIndex((other) => keyOf(other) === keyOf(row)) !== at)
      .map((row) => `${keyOf(row)} is the id of two rows`),
    ...requirements
      .filter((row) => row.test === 'needed' && !tested.has(keyOf(row)))
      .map((row) => `${keyOf(row)} has no test, and does not say why`),
    ...requirements
      .filter((row) => row.test === 'impossible' && tested.has(keyOf(row)))
      .map((row) => `${keyOf(row)} has a test, and says that it has none`),
    ...shown
      .filter((one) => !known.has(keyOf(one)))
      .map((one) => `${one.file}:${one.line}: there is no row ${keyOf(one)}`),
    ...shown
      .filter((one) => !one.aboveTest)
      .map((one) => `${one.file}:${one.line}: there is no test directly below`),
  ]
}

/** The files that show a row, as the pages name them: without `test/`, `.test` and `.ts`. */
export function filesThatShow(shown: readonly Shown[], part: Part, id: string): string[] {
  const files = shown
    .filter((one) => one.part === part && one.id === id)
    .map(({ file }) => file.replace(/(^|\/)test\//, '$1').replace(/(\.test)?\.ts$/, ''))
  return [...new Set(files)].sort()
}
