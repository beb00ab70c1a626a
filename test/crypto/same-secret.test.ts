import { expect, test } from '@jest/globals'
import { isSameSecret } from '../../src/crypto/same-secret.ts'

const SECRET = 'plainly-fake-ops-token'

test.each([
  ['', false],
  ['p', false],
  [SECRET.slice(0, -1), false],
  [`${SECRET} `, false],
  [SECRET.toUpperCase(), false],
  [SECRET.replace(/.$/, 'm'), false],
  [SECRET, true],
])('%j against the secret: %s', (given, same) => {
  expect(isSameSecret(given, SECRET)).toBe(same)
})
