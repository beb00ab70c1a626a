import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'
import { asvsRequirements, parseAsvsList, readAsvsList } from '../../scripts/docs/asvs-list.ts'
import { asvsTables } from '../../scripts/docs/asvs-tables.ts'
import {
  conformanceRequirements,
  parseSource,
  readConformanceList,
  rowsOf,
} from '../../scripts/docs/conformance-list.ts'
import { conformanceTables } from '../../scripts/docs/conformance-tables.ts'
import { problemsWith, readShown, shownIn, TEST_ROOTS } from '../../scripts/docs/shown-by-tests.ts'

const pathOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const sources = readConformanceList(pathOf('docs/conformance'))
const asvs = readAsvsList(pathOf('docs/asvs.yaml'))

test('every id that a test names is a row, and every row has a test or says why it has none', () => {
  const requirements = [...conformanceRequirements(sources), ...asvsRequirements(asvs)]
  expect(problemsWith(requirements, readShown(pathOf('.')))).toEqual([])
})

test('the comments of all tests are read', () => {
  const roots = readFileSync(pathOf('jest.config.mjs'), 'utf8').matchAll(/<rootDir>\/([\w/]+)'/g)
  expect([...roots].map(([, root]) => root).sort()).toEqual([...TEST_ROOTS].sort())
})

test('no row of a source is lost', () => {
  const counts = Object.fromEntries(sources.map((source) => [source.letter, rowsOf(source).length]))
  expect(counts).toEqual({ A: 135, F: 95, P: 85, D: 57 })
})

const FILE = 'test/a/made-up.test.ts'

function sourceOf(...rows: object[]) {
  const sections = [{ id: 'A-1', heading: 'Errors', rows }]
  return parseSource({ letter: 'A', title: 'API', source: 'a specification', sections })
}

const listOf = (...rows: object[]) => parseAsvsList([{ heading: 'V1 Encoding', rows }])

describe('a comment', () => {
  test.each([
    ['for the broker', '// shows: A-1.1', [['broker', 'A-1.1', 1]]],
    ['for the sandbox', '  // sandbox shows: A-1.1', [['sandbox', 'A-1.1', 1]]],
    [
      'with two ids, above another one',
      '// shows: A-1.1, V2.1\n// sandbox shows: A-1.1',
      [
        ['broker', 'A-1.1', 1],
        ['broker', 'V2.1', 1],
        ['sandbox', 'A-1.1', 2],
      ],
    ],
    ['of another kind', "// the next one shows: A-1.1\nconst shows = '// shows: A-1.1'", []],
  ])('%s', (_what, comment, expected) => {
    const shown = shownIn(FILE, `${comment}\ntest('any title', () => {})\n`)
    expect(shown.map(({ part, id, line }) => [part, id, line])).toEqual(expected)
    expect(shown.every(({ file, aboveTest }) => file === FILE && aboveTest)).toBe(true)
  })
})

describe('a problem is found', () => {
  const requirements = [
    ...conformanceRequirements([
      sourceOf({ id: 'A-1.1', text: 'text' }, { id: 'A-1.2', text: 'text', 'no sandbox test': 'a reason' }),
    ]),
    ...asvsRequirements(
      listOf({ id: 'V1.1', text: 'text' }, { id: 'V1.2', text: 'text', documented: 'a reason' }),
    ),
  ]
  const COMPLETE = '// shows: A-1.1, A-1.2, V1.1\n// sandbox shows: A-1.1\ntest.each(ROWS)()\n'
  const problems = (text: string) => problemsWith(requirements, shownIn(FILE, text))

  test('none, if each row has what it needs', () => {
    expect(problems(COMPLETE)).toEqual([])
    expect(problems(COMPLETE.replace('V1.1', 'V1.1, V1.2'))).toEqual([])
  })

  test.each([
    [
      'a row without a test of the broker',
      ['A-1.1, ', ''],
      ['A-1.1 (broker) has no test, and does not say why'],
    ],
    [
      'a row without a test of the sandbox',
      ['// sandbox shows: A-1.1\n', ''],
      ['A-1.1 (sandbox) has no test, and does not say why'],
    ],
    [
      'a requirement without a test or a note',
      [', V1.1', ''],
      ['V1.1 (broker) has no test, and does not say why'],
    ],
    [
      'a test of a row that says why it has none',
      ['sandbox shows: A-1.1', 'sandbox shows: A-1.1, A-1.2'],
      ['A-1.2 (sandbox) has a test, and says that it has none'],
    ],
    ['an id without a row', ['V1.1', 'V1.1, V9.9'], [`${FILE}:1: there is no row V9.9 (broker)`]],
    ['no id', ['V1.1', 'V1.1,'], [`${FILE}:1: there is no row  (broker)`]],
    [
      'a comment whose test is gone',
      ['test.each(ROWS)()', '})'],
      Array.from([1, 1, 1, 2], (line) => `${FILE}:${line}: there is no test directly below`),
    ],
  ])('%s', (_what, [before, after], expected) => {
    expect(problems(COMPLETE.replace(String(before), String(after)))).toEqual(expected)
  })

  test('two rows with one id', () => {
    const twice = conformanceRequirements([
      sourceOf({ id: 'A-1.1', text: 'text' }, { id: 'A-1.1', text: 'other text' }),
    ])
    expect(problemsWith(twice, shownIn(FILE, COMPLETE))).toContain('A-1.1 (broker) is the id of two rows')
  })
})

test.each([
  ['no text', { text: '' }],
  ['an empty reason', { 'no broker test': '' }],
  ['an id of another section', { id: 'A-2.1' }],
  ['an unknown field', { tests: [FILE] }],
])('a row with %s is refused', (_what, change) => {
  expect(() => sourceOf({ id: 'A-1.1', text: 'text' })).not.toThrow()
  expect(() => sourceOf({ id: 'A-1.1', text: 'text', ...change })).toThrow()
})

describe('a page names the files of each row once', () => {
  const shown = [
    ...shownIn(
      FILE,
      '// shows: A-1.2, V1.1\ntest()\n// sandbox shows: A-1.1, A-1.2\ntest()\n// shows: A-1.2',
    ),
    ...shownIn('sandbox/test/b.test.ts', '// sandbox shows: A-1.2\ntest()'),
  ]

  test('conformance, with the number of rows of each section', () => {
    const source = sourceOf(
      { id: 'A-1.1', text: 'a | <b>', 'no broker test': 'a reason' },
      { id: 'A-1.2', text: 'text' },
    )
    const page = conformanceTables([source], shown)
    expect(page).toContain('| **A** | **API**: a specification | 2 | 2 | 1 |\n| A-1 | Errors | 2 | 2 | 1 |\n')
    expect(page).toContain(
      '| A-1.1 | a \\| &lt;b&gt; | a/made-up | *a reason* |\n| A-1.2 | text | a/made-up, sandbox/b | a/made-up |',
    )
  })

  test('ASVS, with notes before tests', () => {
    const list = listOf(
      { id: 'V1.1', text: 'text', documented: 'a reason' },
      { id: 'V1.2', text: 'text', deviates: 'why' },
    )
    expect(asvsTables(list, shown)).toContain(
      '| V1.1 | text | **documented**: a reason<br>a/made-up |\n| V1.2 | text | **deviates**: why |',
    )
  })
})
