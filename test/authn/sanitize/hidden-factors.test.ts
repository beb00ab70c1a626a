import { describe, expect, test } from '@jest/globals'
import { isHiddenStep, removeHiddenFactors } from '../../../src/authn/sanitize/hidden-factors.ts'

const hidden = new Set(['question', 'token:hotp'])
const question = { id: 'f1', factorType: 'question', _links: { verify: { href: 'https://org.example/q' } } }
const push = { id: 'f2', factorType: 'push' }

describe('an answer', () => {
  test.each(['factors', 'factor', 'factorTypes'])('has no hidden factors in its list under %s', (name) => {
    const answer = { status: 'MFA_REQUIRED', _embedded: { user: { id: 'u' }, [name]: [question, push] } }
    expect(removeHiddenFactors(answer, hidden)).toEqual({
      answer: { status: 'MFA_REQUIRED', _embedded: { user: { id: 'u' }, [name]: [push] } },
      allHidden: false,
    })
  })

  test('with hidden factors only is reported', () => {
    const answer = { status: 'MFA_ENROLL', _embedded: { factors: [question] } }
    expect(removeHiddenFactors(answer, hidden)).toEqual({
      answer: { status: 'MFA_ENROLL', _embedded: { factors: [] } },
      allHidden: true,
    })
  })

  test('with an empty list is not reported', () => {
    expect(removeHiddenFactors({ _embedded: { factors: [] } }, hidden).allHidden).toBe(false)
  })

  const links = { next: { href: '/verify' }, resend: [{ href: '/resend' }], prev: { href: '/previous' } }
  const challenged = { status: 'MFA_CHALLENGE', _links: links }

  test.each(['MFA_CHALLENGE', 'MFA_ENROLL_ACTIVATE'])('has no hidden factor in use: %s', (status) => {
    const answer = { ...challenged, status, _embedded: { factor: question, policy: {} } }
    expect(removeHiddenFactors(answer, hidden)).toEqual({
      answer: { status, _embedded: { policy: {} }, _links: { prev: links.prev } },
      allHidden: false,
    })
  })

  test('has no challenge of all factors of a hidden type', () => {
    const answer = {
      ...challenged,
      factorType: 'question',
      _embedded: { factors: [question], challenge: {} },
    }
    expect(removeHiddenFactors(answer, hidden).answer).toEqual({
      status: 'MFA_CHALLENGE',
      factorType: 'question',
      _embedded: {},
      _links: { prev: links.prev },
    })
  })

  test.each([
    { ...challenged, _embedded: { factor: push } },
    { ...challenged, status: 'RECOVERY_CHALLENGE', factorType: 'question' },
  ])('keeps another factor in use, and a recovery: %j', (answer) => {
    expect(removeHiddenFactors(answer, hidden)).toEqual({ answer, allHidden: false })
  })

  test.each([
    {},
    { status: 'SUCCESS' },
    { _embedded: null },
    { _embedded: 'x' },
    { _embedded: { factors: ['question', null] } },
  ])('of another shape is unchanged: %j', (answer) => {
    expect(removeHiddenFactors(answer, hidden).allHidden).toBe(false)
  })

  test('is unchanged if no factor is hidden', () => {
    const answer = { _embedded: { factors: [question] } }
    expect(removeHiddenFactors(answer, new Set())).toEqual({ answer, allHidden: false })
  })
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
