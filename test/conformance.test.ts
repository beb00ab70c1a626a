import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import {
  type ConformanceSource,
  PARTS,
  parseSource,
  readConformanceList,
  rowsOf,
} from '../scripts/docs/conformance-list.ts'
import { conformanceTables } from '../scripts/docs/conformance-tables.ts'
import { checkNamedTest, type ReadTest } from './support/named-tests.ts'

const root = new URL('../', import.meta.url)

function readTest(path: string): string | undefined {
  const url = new URL(path, root)
  return existsSync(url) ? readFileSync(url, 'utf8') : undefined
}

/** All problems with the ids and the tests of a source, one sentence each. */
function problemsOf(source: ConformanceSource, read: ReadTest): string[] {
  const wanted = source.sections.flatMap(({ rows }, section) =>
    rows.map((_, at) => `${source.letter}-${section + 1}.${at + 1}`),
  )
  return rowsOf(source).flatMap((row, at) => [
    ...(row.id === wanted[at] ? [] : [`${row.id}: expected ${wanted[at]}`]),
    ...PARTS.flatMap((part) => {
      const proof = row[part]
      const tests = typeof proof === 'string' ? [] : Object.entries(proof)
      return tests
        .flatMap(([path, titles]) => titles.flatMap((title) => checkNamedTest(path, title, read)))
        .map((problem) => `${row.id}, ${part}: ${problem}`)
    }),
  ])
}

const list = readConformanceList(new URL('docs/conformance', root).pathname)

test.each(list.map((source) => [source.title, source] as const))(
  'the rows of %s name only tests that exist, under consecutive ids',
  (_title, source) => {
    expect(problemsOf(source, readTest)).toEqual([])
  },
)

test('the number of rows of each source is unchanged', () => {
  const counts = Object.fromEntries(list.map((source) => [source.letter, rowsOf(source).length]))
  expect(counts).toEqual({ A: 135, F: 95, P: 85, D: 57 })
})

const FILE = 'test/made-up.test.ts'
const GOOD = { [FILE]: ["it doesn't matter"] }

function sourceOf(...rows: object[]) {
  return { letter: 'A', title: 'API', source: 'a specification', sections: [{ heading: 'Errors', rows }] }
}

describe('a problem in a row is found', () => {
  const SOURCE = `
    const ROWS = {
      quota_exceeded: [403],
      first: 'a row of a table' }
    test.each(ROWS)('Errors, row %s', () => {})
    test("it doesn't matter", () => {})
  `
  const problems = (...rows: object[]) =>
    problemsOf(parseSource(sourceOf(...rows)), (path) => (path === FILE ? SOURCE : undefined))

  test.each([
    ['a file that does not exist', 'test/gone.test.ts', 'x', 'there is no file test/gone.test.ts'],
    ['a title that does not exist', FILE, 'another', `${FILE} has no test or row named: another`],
    ['a part of a title', FILE, 'Errors', `${FILE} has no test or row named: Errors`],
    [
      'a row that does not exist',
      FILE,
      'Errors, row %s › no_row',
      `${FILE} has no test or row named: no_row`,
    ],
  ])('%s', (_what, file, title, problem) => {
    const proof = { ...GOOD, [file]: [title] }
    expect(problems({ id: 'A-1.1', text: 'text', sandbox: proof, broker: 'a reason' })).toEqual([
      `A-1.1, sandbox: ${problem}`,
    ])
    expect(problems({ id: 'A-1.1', text: 'text', sandbox: GOOD, broker: proof })).toEqual([
      `A-1.1, broker: ${problem}`,
    ])
  })

  test.each([
    ['a first id other than 1', ['A-1.2'], ['A-1.2: expected A-1.1']],
    ['a repeated id', ['A-1.1', 'A-1.1'], ['A-1.1: expected A-1.2']],
    ['an id of another source', ['P-1.1'], ['P-1.1: expected A-1.1']],
  ])('%s', (_what, ids, expected) => {
    const rows = ids.map((id) => ({ id, text: 'text', sandbox: GOOD, broker: GOOD }))
    expect(problems(...rows)).toEqual(expected)
  })

  test.each([
    ['no text', { text: '' }],
    ['no reason', { broker: '' }],
    ['no test', { sandbox: {} }],
    ['a file without a title', { sandbox: { [FILE]: [] } }],
    ['a file that is not a test', { broker: { 'src/main.ts': ['x'] } }],
  ])('%s', (_what, change) => {
    const row = { id: 'A-1.1', text: 'text', sandbox: GOOD, broker: GOOD, ...change }
    expect(() => parseSource(sourceOf(row))).toThrow()
  })

  test('existing titles, table rows, keys and reasons are accepted', () => {
    const sandbox = { [FILE]: ["it doesn't matter", 'a row of a table', 'Errors, row %s › quota_exceeded'] }
    expect(problems({ id: 'A-1.1', text: 'text', sandbox, broker: 'a reason' })).toEqual([])
  })
})

test('the page counts the rows of each section and lists their test files once', () => {
  const both = { [FILE]: ['x'], 'test/a/b.test.ts': ['x'] }
  const rows = [
    { id: 'A-1.1', text: 'a | <b>', sandbox: { [FILE]: ['x', 'y'] }, broker: 'a reason' },
    { id: 'A-1.2', text: 'text', sandbox: both, broker: { [FILE]: ['x'] } },
  ]
  const page = conformanceTables([parseSource(sourceOf(...rows))])
  expect(page).toContain('| **A** | **API**: a specification | 2 | 2 | 1 |\n| A-1 | Errors | 2 | 2 | 1 |\n')
  expect(page).toContain(
    '| A-1.1 | a \\| &lt;b&gt; | made-up | *a reason* |\n| A-1.2 | text | made-up, a/b | made-up |',
  )
})
