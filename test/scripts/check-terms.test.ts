import { expect, test } from '@jest/globals'

const script: unknown = await import(new URL('../../scripts/check-terms.mjs', import.meta.url).href)
const { findTerms } = script as {
  findTerms(path: string, text: string): { line: number; found: string; use: string }[]
}

const found = (text: string, path = 'src/made-up.ts') =>
  findTerms(path, text).map(({ line, found: word }) => [line, word])

test.each([
  ['a comment', '/** Identical flights are one. */', 'flights'],
  ['a camelCase name', 'const stepFlight = 1', 'Flight'],
  ['a PascalCase name', 'class FlightTable {}', 'Flight'],
  ['a snake_case name', "log.warn('store_trouble')", 'trouble'],
  ['an upper-case name', 'const MOVABLE_STORE = 1', 'MOVABLE'],
  ['a message', "throw new Error('Go on without it')", 'Go on'],
  ['a term with a hyphen', 'The hand-over of a session', 'hand-over'],
  ['a clause as the subject', '// Who sends nothing is refused.', '// Who sends nothing is refused.'],
  [
    'such a clause in a docstring',
    '/** Sends it. What is left is dropped. */',
    '. What is left is dropped. */',
  ],
])('a term of the list is found in %s', (_where, text, word) => {
  expect(found(`\n${text}`)).toEqual([[2, word]])
})

test('a term of the list is found in the path of a file', () => {
  expect(found('', 'src/authn/step-flights.ts')).toEqual([[0, 'flights']])
})

test.each([
  'Identical requests in flight share one upstream call.',
  'const requestsInFlight = 0',
  'gauge("http_requests_in_flight")',
  'await Promise.allSettled(calls)',
  'factorType: "claims_provider"',
  'What does Okta answer?',
  '## What Redis needs',
  'The broker stands in front of Okta.',
  'mushroom',
])('ordinary text is not reported: %s', (text) => {
  expect(found(text)).toEqual([])
})

test('each finding says what to write instead', () => {
  expect(findTerms('docs/made-up.md', 'a remnant')).toEqual([
    { line: 1, found: 'remnant', use: 'redirect-only transaction' },
  ])
})
