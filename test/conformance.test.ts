import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { checkConformancePage, readRows } from './support/conformance-page.ts'

const root = new URL('../', import.meta.url)
const page = readFileSync(new URL('docs/conformance.md', root), 'utf8')

function readTest(path: string): string | undefined {
  const url = new URL(path, root)
  return existsSync(url) ? readFileSync(url, 'utf8') : undefined
}

test('docs/conformance.md names only tests that exist, under consecutive ids', () => {
  expect(checkConformancePage(page, readTest)).toEqual([])
})

test('both specifications are in it, row for row', () => {
  const { rows } = readRows(page)
  expect(rows.filter(({ id }) => id.startsWith('A-')).length).toBe(135)
  expect(rows.filter(({ id }) => id.startsWith('P-')).length).toBe(85)
})

describe('a page that is not sound', () => {
  const SOURCE = `
    const ROWS = {
      quota_exceeded: [403],
      first: 'a row of a table' }
    test.each(ROWS)('Errors, row %s', () => {})
    test("it doesn't matter", () => {})
  `
  const readMadeUp = (path: string) => (path === 'test/made-up.test.ts' ? SOURCE : undefined)
  const check = (...rows: string[]) =>
    checkConformancePage(
      ['| id | what the specification says | sandbox | broker |', '|---|---|---|---|', ...rows].join('\n'),
      readMadeUp,
    )
  const GOOD = "`test/made-up.test.ts` › it doesn't matter"

  test.each([
    ['a file that does not exist', '`test/gone.test.ts` › a title', 'there is no file test/gone.test.ts'],
    [
      'a title that does not exist',
      '`test/made-up.test.ts` › another title',
      'test/made-up.test.ts has no test or row named: another title',
    ],
    [
      'a part of a title',
      '`test/made-up.test.ts` › Errors',
      'test/made-up.test.ts has no test or row named: Errors',
    ],
    [
      'a row that does not exist',
      '`test/made-up.test.ts` › Errors, row %s › unknown_error',
      'test/made-up.test.ts has no test or row named: unknown_error',
    ],
    ['the second of two tests', `${GOOD}<br>\`test/gone.test.ts\` › x`, 'there is no file test/gone.test.ts'],
    ['an empty cell', '', 'neither a test nor "documented only: …", "not yet shown: …" or "—": '],
    [
      'no reason',
      'documented only',
      'neither a test nor "documented only: …", "not yet shown: …" or "—": documented only',
    ],
    [
      'a path out of the tests',
      '`src/main.ts` › x',
      'neither a test nor "documented only: …", "not yet shown: …" or "—": `src/main.ts` › x',
    ],
  ])('in either column: %s', (_what, cell, problem) => {
    expect(check(`| A-1.1 | text | ${cell} | — |`)).toEqual([`A-1.1, sandbox: ${problem}`])
    expect(check(`| A-1.1 | text | ${GOOD} | ${cell} |`)).toEqual([`A-1.1, broker: ${problem}`])
  })

  test.each<[string, string[], string[]]>([
    ['no row at all', [], ['there is no row']],
    ['no text', [`| A-1.1 |  | ${GOOD} | — |`], ['A-1.1: says nothing']],
    ['nothing in both columns', ['| A-1.1 | text | — | — |'], ['A-1.1: neither column says anything']],
    [
      'a column too few',
      [`| A-1.1 | text | ${GOOD} |`],
      ['A-1.1: 3 columns instead of 4', 'there is no row'],
    ],
    ['no id', [`| 1 | text | ${GOOD} | — |`], ['1: is no id such as A-3.12']],
    ['a first id that is not the first', [`| A-1.2 | t | ${GOOD} | — |`], ['A-1.2: expected A-1.1']],
    [
      'a gap',
      [`| A-1.1 | t | ${GOOD} | — |`, `| A-1.3 | t | ${GOOD} | — |`],
      ['A-1.3: expected A-1.2 or A-2.1 or P-1.1'],
    ],
    [
      'the same id twice',
      [`| A-1.1 | t | ${GOOD} | — |`, `| A-1.1 | t | ${GOOD} | — |`],
      ['A-1.1: expected A-1.2 or A-2.1 or P-1.1', 'A-1.1: stands there twice'],
    ],
    [
      'a row outside of a table',
      [`| A-1.1 | t | ${GOOD} | — |`, '', `| A-1.2 | t | ${GOOD} | — |`],
      [`outside of a table: | A-1.2 | t | ${GOOD} | — |`],
    ],
  ])('as a whole: %s', (_what, rows, problems) => {
    expect(check(...rows)).toEqual(problems)
  })

  test('but titles, rows of a table, keys and reasons that are there pass', () => {
    const rows = [
      `| A-1.1 | a \\| b | ${GOOD}<br>\`test/made-up.test.ts\` › Errors, row %s › quota_exceeded | — |`,
      '| A-2.1 | text | `test/made-up.test.ts` › a row of a table | not yet shown: later |',
      `| A-2.2 | text | — | ${GOOD}<br>not yet shown: the other half |`,
      '| P-1.1 | text | — | documented only: about the vendor |',
    ]
    expect(check(...rows)).toEqual([])
  })
})
