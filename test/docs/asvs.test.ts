import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { checkAsvsPage, readAsvsRows, requirementsOf } from '../support/asvs-page.ts'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/asvs.md', root), 'utf8')

function readTest(path: string): string | undefined {
  const url = new URL(path, root)
  return existsSync(url) ? readFileSync(url, 'utf8') : undefined
}

test('docs/asvs.md has every requirement of levels 1 and 2 once, each with a test that exists or a reason', () => {
  expect(checkAsvsPage(page, readTest)).toEqual([])
})

test('the numbers of the standard are as many as it has: 70, 183 and 92', () => {
  expect(([1, 2, 3] as const).map((level) => requirementsOf(level).length)).toEqual([70, 183, 92])
})

test('every page that a reason points to is there, and has the section', () => {
  const links = readAsvsRows(page).flatMap(({ here }) => [...here.matchAll(/\]\(([^)#]*)(?:#([^)]+))?\)/g)])
  expect(links.length).toBeGreaterThan(10)
  for (const [, path = '', section] of links) {
    const text = readTest(new URL(path, 'file:///docs/').pathname.slice(1))
    expect([path, text !== undefined]).toEqual([path, true])
    if (section !== undefined) expect([path, ...anchorsOf(text ?? '')]).toContain(section)
  }
})

/** The addresses of a page's headings, as they are made of their words. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

describe('a page that is not sound', () => {
  const readMadeUp = (path: string) =>
    path === 'test/made-up.test.ts' ? "test('it holds', () => {})" : undefined
  const check = (...rows: string[]) =>
    checkAsvsPage(['| id | in short | here |', '|---|---|---|', ...rows].join('\n'), readMadeUp, [
      'V1.1.1',
      'V1.1.2',
    ])
  const GOOD = '| V1.1.1 | decoding | `test/made-up.test.ts` › it holds |'
  const REST = '| V1.1.2 | encoding | **not applicable**: there is none |'

  test.each<[string, string[], string[]]>([
    ['a requirement that is missing', [GOOD], ['V1.1.2: is missing']],
    ['one that stands there twice', [GOOD, GOOD, REST], ['V1.1.1: stands there twice']],
    [
      'one beside its chapter',
      [GOOD, '| V1 | all | **not applicable**: nothing |'],
      ['V1.1.1: stands there twice'],
    ],
    [
      'a number that the standard does not have',
      [GOOD, REST, '| V1.9.9 | x | **documented**: there |'],
      ['V1.9.9: is no requirement, section or chapter of the standard'],
    ],
    [
      'an id in another form',
      [GOOD, REST, '| 1.1.1 | x | **documented**: there |'],
      ['1.1.1: is no id such as V1.2.3', '1.1.1: is no requirement, section or chapter of the standard'],
    ],
    ['no words', [GOOD, '| V1.1.2 |  | **documented**: there |'], ['V1.1.2: says nothing']],
    ['no reason', [GOOD, '| V1.1.2 | x | met |'], ['V1.1.2: neither a test nor a reason: met']],
    [
      'a word that gives no reason',
      [GOOD, '| V1.1.2 | x | **documented**: |'],
      ['V1.1.2: neither a test nor a reason: **documented**:'],
    ],
    [
      'a test that was renamed',
      [GOOD, '| V1.1.2 | x | `test/made-up.test.ts` › it held |'],
      ['V1.1.2: test/made-up.test.ts has no test or row named: it held'],
    ],
    [
      'a file that is gone, beside a reason',
      [GOOD, '| V1.1.2 | x | **documented**: there<br>`test/gone.test.ts` › x |'],
      ['V1.1.2: there is no file test/gone.test.ts'],
    ],
  ])('%s', (_what, rows, problems) => {
    expect(check(...rows)).toEqual(problems)
  })

  test('but tests, reasons, whole chapters and level 3 pass', () => {
    expect(check(GOOD, REST, '| V1.2.10 | a formula | **not applicable**: no tables |')).toEqual([])
    expect(check('| V1 | all of it | **not applicable**: made up |')).toEqual([])
  })
})
