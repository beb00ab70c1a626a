import { expect, test } from '@jest/globals'
import { pamUserOf } from '../../src/pam/pam-user.ts'

const local = { kind: 'login-local-part', domains: ['example.com'] } as const

test.each(['', '.', '..', 'a\u0000b', 'a\nb', 'half \ud800 pair'])('no person is called %j', (login) => {
  expect(pamUserOf(login, { kind: 'login' })).toBeUndefined()
})

test.each([
  'ada',
  'ada@elsewhere.org',
  '@example.com',
  '..@example.com',
  'ada@notexample.com',
  'ada@example.com.org',
])('of %j no local part is taken', (login) => {
  expect(pamUserOf(login, local)).toBeUndefined()
})

test('the login, or its local part when the domain is ours in any case', () => {
  expect(pamUserOf('Ada@Example.com', { kind: 'login' })).toBe('Ada@Example.com')
  expect(pamUserOf('ada@EXAMPLE.com', local)).toBe('ada')
  expect(pamUserOf('a@b@example.com', local)).toBe('a@b')
})
