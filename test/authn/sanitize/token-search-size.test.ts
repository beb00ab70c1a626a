import { expect, test } from '@jest/globals'
import { removeTokens } from '../../../src/authn/sanitize/token-search.ts'

const TOKEN = '00Plainly-Fake_Token.0123~456789'

/** The token filter must take linear time for text that looks like escapes everywhere. */
test.each([
  ['backslashes', '\\'],
  ['percent signs', '%25'],
  ['ampersands', '&amp;'],
  ['entities', '&#0'],
  ['first characters', '\\u0030'],
])('a megabyte of %s is searched at once', (_what, piece) => {
  const value = piece.repeat(Math.ceil(1_000_000 / piece.length))
  expect(removeTokens(JSON.stringify({ value }), [TOKEN]).removed).toBe(0)
})
