import { describe, expect, test } from '@jest/globals'
import {
  removeTokens,
  replaceParameters,
  replaceTokens,
  tokenField,
  tokenList,
  tokensInUrl,
} from '../../../src/authn/sanitize/token-search.ts'

describe('names of token members', () => {
  test.each([
    ['stateToken', 'stateToken'],
    ['STATETOKEN', 'stateToken'],
    ['sessionToken', 'sessionToken'],
    ['sessiontoken', 'sessionToken'],
    ['recoveryToken', 'recoveryToken'],
    ['RecoveryTOKEN', 'recoveryToken'],
    ['token', undefined],
    ['stateTokens', undefined],
    ['', undefined],
    ['constructor', undefined],
  ])('%j: %s', (name, field) => {
    expect(tokenField(name)).toBe(field)
  })
})

describe('tokens that are only in a link', () => {
  test.each<[link: string, tokens: string[]]>([
    ['', []],
    ['?fromURI=x', []],
    ['?token=one', ['one']],
    ['?Token=one', []],
    ['?a=b&stateToken=one&sessionTOKEN=two', ['one', 'two']],
    ['?state%54oken=a%20b', ['a b']],
    ['#stateToken=one', ['one']],
    ['#/?stateToken=one', ['one']],
    ['#/stateToken=one', ['one']],
    ['#?recoveryToken=one', ['one']],
    ['#x/?stateToken=one', []],
    ['?token=one#token=two&x=y', ['one', 'two']],
  ])('%j', (rest, tokens) => {
    expect(tokensInUrl(new URL(`https://org.example.com/login${rest}`))).toEqual(tokens)
  })

  test('none without a link', () => {
    expect(tokensInUrl(undefined)).toEqual([])
  })
})

describe('parameters with the name of a token', () => {
  test.each([
    ['', ''],
    ['/path', '/path'],
    ['?stateToken=x', '?stateToken=HANDLE'],
    ['?stateToken', '?stateToken'],
    ['?a=b&STATETOKEN=x&c=d', '?a=b&STATETOKEN=HANDLE&c=d'],
    ['?sessionToken=x&recoveryToken=y&token=z', '?sessionToken=&recoveryToken=&token=z'],
    ['?stateToken=a=b#c', '?stateToken=HANDLE#c'],
    ['#stateToken=x', '#stateToken=HANDLE'],
    ['#/stateToken=x', '#/stateToken=HANDLE'],
    ['#/?stateToken=x', '#/?stateToken=HANDLE'],
    ['?state%54oken=x', '?state%54oken=HANDLE'],
    ['?%zz=x&stateToken=y', '?%zz=x&stateToken=HANDLE'],
    ['?my-stateToken=x', '?my-stateToken=x'],
  ])('%j becomes %j', (link, wanted) => {
    expect(replaceParameters(link, 'HANDLE')).toBe(wanted)
  })
})

describe('tokens', () => {
  const LONG = 'a'.repeat(20)
  const SHORT = 'b'.repeat(16)

  test('have 16 characters or more; duplicates are dropped, and the longest is first', () => {
    expect(tokenList([SHORT, LONG, 'c'.repeat(15), '', SHORT, LONG])).toEqual([LONG, SHORT])
  })

  test('are each removed, and counted', () => {
    expect(removeTokens(`"${SHORT}-${LONG}-${SHORT}"`, [SHORT, LONG])).toEqual({ text: '"--"', removed: 3 })
  })

  test('are removed again if the text around a removed token is a token', () => {
    const nested = SHORT.slice(0, 8) + LONG + SHORT.slice(8)
    expect(removeTokens(`"${nested}"`, [SHORT, LONG])).toEqual({ text: '""', removed: 2 })
    expect(replaceTokens(nested, [SHORT, LONG], '')).toBe('')
  })

  test('are replaced with the handle, or with nothing', () => {
    expect(replaceTokens('', [LONG], 'HANDLE')).toBe('')
    expect(replaceTokens(`?a=${LONG}&b=${SHORT}`, [LONG, SHORT], 'HANDLE')).toBe('?a=HANDLE&b=HANDLE')
    expect(replaceTokens(`?a=${LONG}&b=${SHORT}`, [LONG, SHORT], '')).toBe('?a=&b=')
  })

  /** Each round removes the innermost tokens: 31 rounds, and one that finds nothing. */
  test('nested 31 deep are removed; deeper nesting is a RangeError', () => {
    const TOKEN = 'abcdefghijklmnopqrst'
    const nested = (depth: number) => TOKEN.slice(0, 10).repeat(depth) + TOKEN.slice(10).repeat(depth)
    expect(removeTokens(nested(31), [TOKEN])).toEqual({ text: '', removed: 31 })
    expect(() => removeTokens(nested(32), [TOKEN])).toThrow(new RangeError('tokens are nested too deeply'))
  })
})

test.each([
  ['a slash after a backslash', '00token/with/slashes/in-it', '00token\\/with\\/slashes\\/in-it'],
  [
    'characters beyond ASCII, percent-encoded',
    '00tökén-of-an-org-1234',
    encodeURIComponent('00tökén-of-an-org-1234'),
  ],
  ['characters with surrogate pairs', '00token-\u{1f600}-of-an-org', '00token-\\ud83d\\ude00-of-an-org'],
  [
    'characters with surrogate pairs, with %u',
    '00token-\u{1f600}-of-an-org',
    '00token-%ud83d%uDE00-of-an-org',
  ],
  [
    'characters with surrogate pairs, as one code point',
    '00token-\u{1f600}-of-an-org',
    '00token-\\u{1F600}-of-an-org',
  ],
  [
    'characters with surrogate pairs, as an entity',
    '00token-\u{1f600}-of-an-org',
    '00token-&#x1F600;-of-an-org',
  ],
  ['characters with a meaning in patterns', '00.*+?()[]{}|^$-token', '00.*+?()[]{}|^$-token'],
])('%s: the token is removed from a link', (_what, token, spelled) => {
  expect(replaceTokens(`?a=${spelled}&b=%20`, [token], '')).toBe('?a=&b=%20')
})

test('a token is found if \\u is the only escape of a link', () => {
  const spelled = [...'00Plainly-Fake_Token']
    .map((char) => `\\u00${char.charCodeAt(0).toString(16)}`)
    .join('')
  expect(replaceTokens(`?t=${spelled}`, ['00Plainly-Fake_Token'], 'HANDLE')).toBe('?t=HANDLE')
})

test('\\x has two digits, so it does not match a character beyond Latin-1', () => {
  const link = '?a=00token-\\x100-of-an-org&b=%20'
  expect(replaceTokens(link, ['00token-\u0100-of-an-org'], '')).toBe(link)
})
