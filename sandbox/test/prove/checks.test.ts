import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { ENTRY_OPERATIONS, OFFERED_OPERATIONS, STEP_OPERATIONS } from '../../../src/authn/operations.ts'
import { beliefIdOf, holds, notTestable, resultOf, unclear } from '../../src/prove/check.ts'
import { ALL_CHECKS } from '../../src/prove/checks/all-checks.ts'
import { STEPS } from '../../src/prove/checks/steps-without-token.ts'
import { NOT_SEEN } from '../../src/prove/not-seen.ts'

const docs = new URL('../../../docs/', import.meta.url)
const read = (page: string) => readFileSync(new URL(page, docs), 'utf8')
const ids = [...read('unproven.md').matchAll(/^\| ([A-Z]\d+) \|/gm)].map(([, id = '']) => id)

test('each belief of docs/unproven.md has a check, or a reason why no run can see it', () => {
  const checked = new Set(ALL_CHECKS.map(({ id }) => beliefIdOf(id)))
  expect(ids.length).toBeGreaterThan(50)
  expect(ids.filter((id) => !checked.has(id) && !Object.hasOwn(NOT_SEEN, id))).toEqual([])
  expect(Object.keys(NOT_SEEN).filter((id) => checked.has(id))).toEqual([])
})

test('each check, and each reason, is about a belief of that page, or has an id of its own', () => {
  const about = [...ALL_CHECKS.flatMap(({ id }) => beliefIdOf(id) ?? []), ...Object.keys(NOT_SEEN)]
  expect(about.filter((id) => !ids.includes(id))).toEqual([])
})

test('steps-without-token.ts sends each step of src/authn/operations.ts, but Duo’s', () => {
  const operations = Object.keys({ ...ENTRY_OPERATIONS, ...OFFERED_OPERATIONS, ...STEP_OPERATIONS })
  const replayed = new Set(STEPS.map(({ operation }) => operation))
  expect(operations.filter((id) => !replayed.has(id))).toEqual(['completeDuo'])
  expect([...replayed].filter((id) => !operations.includes(id))).toEqual([])
})

test('the ids of the checks are unique, and each has one sentence', () => {
  const all = ALL_CHECKS.map(({ id }) => id)
  expect(all).toEqual([...new Set(all)])
  expect(ALL_CHECKS.filter(({ belief }) => !/^\S.+ .+\.$/.test(belief)).map(({ id }) => id)).toEqual([])
})

test('each check names a section of the docs that exists', () => {
  const wrong = ALL_CHECKS.map(({ where }) => where).filter((where) => {
    const [page = '', section = ''] = where.split('#')
    const sections = [...read(page).matchAll(/^#{2,4} (.+)$/gm)].map(([, title = '']) => anchorOf(title))
    return !sections.includes(section)
  })
  expect([...new Set(wrong)]).toEqual([])
})

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(' ', '-')
}

test.each([
  [holds(true, 'yes'), 'proved'],
  [holds(false, 'no'), 'disproved'],
  [notTestable('why'), 'not testable here'],
  [unclear('what'), 'unclear'],
])('%j is %s', (seen, result) => {
  expect(resultOf(seen)).toBe(result)
})

test.each([
  ['R1', 'R1'],
  ['R1.token-sms', 'R1'],
  ['R12', 'R12'],
  ['token.verifyFactor', undefined],
  ['Rate1', undefined],
])('the check %s is about %s', (id, belief) => {
  expect(beliefIdOf(id)).toBe(belief)
})
