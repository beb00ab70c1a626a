import { describe, expect, test } from '@jest/globals'
import { ATTEMPT_KINDS, type AttemptKind } from '../../../src/authn/throttling/figures.ts'
import { isSpent, mayHaveGoneOut } from '../../../src/authn/throttling/spent.ts'
import type { Exchanged } from '../../../src/authn/transaction/exchanged.ts'
import { upstreamTimeout, upstreamUnavailable } from '../../../src/errors.ts'
import { UpstreamFailure } from '../../../src/upstream/upstream-failure.ts'

const answered = (errorCode?: string): Exchanged => ({
  outcome: { kind: 'answer', status: 200, body: '{}', headers: {}, errorCode, sessionId: undefined },
  after: undefined,
})
const spent = (kind: AttemptKind, more: Partial<Exchanged> = {}) => isSpent(kind, { ...answered(), ...more })

/** Which refusals count, by what was tried (DESIGN §4, "Throttling"). */
describe('an attempt that Okta refused', () => {
  const COUNTS: Readonly<Record<string, readonly AttemptKind[]>> = {
    E0000004: ['password', 'code', 'token', 'push'],
    E0000068: ['password', 'code', 'push'],
    E0000087: ['password', 'code', 'push'],
    E0000011: ['token'],
    E0000069: [],
    E0000047: [],
    E0000109: [],
    E0000001: [],
  }

  test.each(Object.entries(COUNTS))('with %s counts for %j alone', (code, kinds) => {
    expect(ATTEMPT_KINDS.filter((kind) => isSpent(kind, answered(code)))).toEqual(
      ATTEMPT_KINDS.filter((kind) => kinds.includes(kind)),
    )
  })

  test('counts also where the broker itself refused it', () => {
    const outcome = { kind: 'refusal', status: 403, code: 'E0000068', summary: '', causes: [], headers: {} }
    const refused = { ...answered(), outcome } as unknown as Exchanged
    expect([isSpent('code', refused), isSpent('message', refused)]).toEqual([true, false])
  })

  test('what went out counts also where the broker refused the answer', () => {
    const outcome = { kind: 'refusal', status: 403, code: 'E0000006', summary: '', causes: [], headers: {} }
    const refused = { ...answered(), outcome, status: 'MFA_CHALLENGE' } as unknown as Exchanged
    expect(ATTEMPT_KINDS.filter((kind) => isSpent(kind, refused))).toEqual(['message', 'push', 'recovery'])
  })
})

test('an accepted guess does not count; what went out to somebody does', () => {
  expect(ATTEMPT_KINDS.filter((kind) => spent(kind))).toEqual(['message', 'push', 'recovery'])
})

test('LOCKED_OUT refuses passwords and codes', () => {
  expect(ATTEMPT_KINDS.filter((kind) => spent(kind, { status: 'LOCKED_OUT' }))).toEqual([
    'password',
    'code',
    'message',
    'push',
    'recovery',
  ])
  expect([spent('code', { status: 'SUCCESS' }), spent('password', { status: 'SUCCESS' })]).toEqual([
    false,
    false,
  ])
})

test('a wrong old password counts as a password', () => {
  expect(spent('password', { wrongOldPassword: true })).toBe(true)
  expect(spent('password', { wrongOldPassword: false })).toBe(false)
  expect(spent('code', { wrongOldPassword: true })).toBe(false)
})

test.each([
  ['SUCCESS', false],
  ['WAITING', false],
  ['CHALLENGE', false],
  ['REJECTED', true],
  ['TIME_WINDOW_EXCEEDED', true],
  ['SOMETHING_NEW', true],
  [undefined, false],
])('a code with the factor result %s: %s', (factorResult, counts) => {
  expect(spent('code', { factorResult })).toBe(counts)
  expect(spent('password', { factorResult })).toBe(false)
})

describe('without an answer', () => {
  const lost = upstreamTimeout(new UpstreamFailure('timeout'))
  const unsent = upstreamUnavailable(new UpstreamFailure('unreachable'))

  test.each(ATTEMPT_KINDS)('a %s that may have arrived counts if it reaches somebody', (kind) => {
    expect(mayHaveGoneOut(kind, lost)).toBe(['message', 'push', 'recovery'].includes(kind))
  })

  test.each(ATTEMPT_KINDS)('a %s that was not sent does not count', (kind) => {
    expect([mayHaveGoneOut(kind, unsent), mayHaveGoneOut(kind, new Error('other'))]).toEqual([false, false])
  })
})
