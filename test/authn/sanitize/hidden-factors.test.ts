import { describe, expect, test } from '@jest/globals'
import { isHiddenStep, removeHiddenFactors } from '../../../src/authn/sanitize/hidden-factors.ts'

const hidden = new Set(['question', 'token:hotp'])
const question = { id: 'f1', factorType: 'question', _links: { verify: { href: 'https://org.example/q' } } }
const push = { id: 'f2', factorType: 'push' }

describe('an answer', () => {
  // shows: F-1.1, F-1.2, F-1.3, F-1.11
  test.each(['factors', 'factor', 'factorTypes'])('has no hidden factors in its list under %s', (name) => {
    const answer = { status: 'MFA_REQUIRED', _embedded: { user: { id: 'u' }, [name]: [question, push] } }
    expect(removeHiddenFactors(answer, hidden)).toEqual({
      status: 'MFA_REQUIRED',
      _embedded: { user: { id: 'u' }, [name]: [push] },
    })
  })

  test('has no hidden factor in use', () => {
    const _links = { next: { href: '/verify' }, resend: [{ href: '/resend' }], prev: { href: '/previous' } }
    const answer = { status: 'MFA_CHALLENGE', _embedded: { factor: question, policy: {} }, _links }
    expect(removeHiddenFactors(answer, hidden)).toEqual({
      status: 'MFA_CHALLENGE',
      _embedded: { policy: {} },
      _links: { prev: _links.prev },
    })
  })

  test('has no hidden type of security keys in use, which are challenged by their type', () => {
    const challenged = {
      status: 'MFA_CHALLENGE',
      factorType: 'question',
      _embedded: { challenge: {}, factors: [] },
    }
    expect(removeHiddenFactors(challenged, hidden)).toEqual({
      status: 'MFA_CHALLENGE',
      factorType: 'question',
      _embedded: {},
      _links: {},
    })
    const other = { ...challenged, status: 'RECOVERY_CHALLENGE' }
    expect(removeHiddenFactors(other, hidden)).toEqual(other)
  })

  test.each([{}, { status: 'SUCCESS' }, { _embedded: { factor: push, factors: ['question', null] } }])(
    'without one is unchanged: %j',
    (answer) => {
      expect(removeHiddenFactors(answer, hidden)).toEqual(answer)
    },
  )
})

describe('a step', () => {
  test.each([
    ['about a hidden factor, by its id', 'question', {}, true],
    ['that enrolls a hidden factor', undefined, { factorType: 'question' }, true],
    ['that enrolls it in another letter case', undefined, { factorType: 'Question' }, true],
    ['about another factor', 'push', {}, false],
    ['that enrolls another factor', undefined, { factorType: 'push' }, false],
    ['without a factor', undefined, { factorType: 7 }, false],
    ['about a type that begins with the name of a hidden one', 'token', {}, false],
  ])('%s is hidden, with %j and %j: %s', (_what, type, fields, expected) => {
    expect(isHiddenStep(type, fields, hidden)).toBe(expected)
  })
})
