import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { parseAsvsList, readAsvsList } from '../../scripts/docs/asvs-list.ts'
import { checkAsvsRows, requirementsOf } from '../support/asvs-requirements.ts'

const root = new URL('../../', import.meta.url)
const rows = readAsvsList(new URL('docs/asvs.json', root).pathname).chapters.flatMap(
  (chapter) => chapter.rows,
)

function readTest(path: string): string | undefined {
  const url = new URL(path, root)
  return existsSync(url) ? readFileSync(url, 'utf8') : undefined
}

test('docs/asvs.json has one row for every requirement of levels 1 and 2, with tests that exist or a reason', () => {
  expect(checkAsvsRows(rows, readTest)).toEqual([])
})

test('the standard has 70, 183 and 92 requirements at its three levels', () => {
  expect(([1, 2, 3] as const).map((level) => requirementsOf(level).length)).toEqual([70, 183, 92])
})

describe('an invalid row is reported', () => {
  const MADE_UP = 'test/made-up.test.ts'
  const readMadeUp = (path: string) => (path === MADE_UP ? "test('it holds', () => {})" : undefined)
  const parse = (...list: object[]) =>
    parseAsvsList({ chapters: [{ heading: 'V1 Made up', rows: list }] }).chapters.flatMap((one) => one.rows)
  const check = (...list: object[]) => checkAsvsRows(parse(...list), readMadeUp, ['V1.1.1', 'V1.1.2'])
  const TESTED = { id: 'V1.1.1', text: 'decoding', tests: { [MADE_UP]: ['it holds'] } }
  const REASONED = { id: 'V1.1.2', text: 'encoding', notes: { 'not applicable': 'there is none' } }

  test.each<[string, object[], string[]]>([
    ['a requirement without a row', [TESTED], ['V1.1.2: is missing']],
    ['a requirement with two rows', [TESTED, TESTED, REASONED], ['V1.1.1: has two rows']],
    [
      'a requirement besides its chapter',
      [TESTED, { id: 'V1', text: 'all', notes: { documented: 'there' } }],
      ['V1.1.1: has two rows'],
    ],
    [
      'a number that the standard does not have',
      [TESTED, REASONED, { id: 'V1.9.9', text: 'x', notes: { documented: 'there' } }],
      ['V1.9.9: is no requirement, section or chapter of the standard'],
    ],
    [
      'a test that was renamed',
      [TESTED, { id: 'V1.1.2', text: 'x', tests: { [MADE_UP]: ['it held'] } }],
      [`V1.1.2: ${MADE_UP} has no test or row named: it held`],
    ],
    [
      'a test file that does not exist, besides a reason',
      [TESTED, { ...REASONED, tests: { 'test/gone.test.ts': ['x'] } }],
      ['V1.1.2: there is no file test/gone.test.ts'],
    ],
  ])('%s', (_what, list, problems) => {
    expect(check(...list)).toEqual(problems)
  })

  test.each<[string, object]>([
    ['an id in another form', { ...TESTED, id: '1.1.1' }],
    ['no text', { ...TESTED, text: '' }],
    ['neither a test nor a reason', { id: 'V1.1.1', text: 'x' }],
    ['an unknown kind of reason', { ...REASONED, notes: { met: 'yes' } }],
    ['an empty reason', { ...REASONED, notes: { documented: '' } }],
  ])('%s', (_what, row) => {
    expect(() => parse(row)).toThrow()
  })

  test('tests, reasons, whole chapters and level 3 pass', () => {
    const formula = { id: 'V1.2.10', text: 'a formula', notes: { 'not applicable': 'no tables' } }
    expect(check(TESTED, REASONED, formula)).toEqual([])
    expect(check({ id: 'V1', text: 'all of it', notes: { 'not applicable': 'made up' } })).toEqual([])
  })
})
