import { describe, expect, test } from '@jest/globals'
import {
  createTokenReplacer,
  removeTokens,
  replaceParameters,
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

const TOKEN = '00Plainly-Fake_Token.0123~456/89'
const ESCAPED = '00token "with" quotes \\ and lines\n'
const LONG_CHARACTERS = '00tökén-\u{1f600}-of-an-org'
const encode = (text: string, isUpper: boolean, every = 1) =>
  [...text]
    .map((char, n) => {
      const hex = (char.codePointAt(0) ?? 0).toString(16)
      return n % every === 0 ? `%${isUpper ? hex.toUpperCase() : hex}` : char
    })
    .join('')

test.each([
  ['as it is', TOKEN, TOKEN],
  ['percent-encoded where it must be', TOKEN, encodeURIComponent(TOKEN)],
  ['percent-encoded', TOKEN, encode(TOKEN, false)],
  ['percent-encoded in upper case', TOKEN, encode(TOKEN, true)],
  ['percent-encoded in part', TOKEN, encode(TOKEN, false, 2)],
  ['with characters that JSON escapes', ESCAPED, undefined],
  ['with characters that JSON escapes, percent-encoded', ESCAPED, encodeURIComponent(ESCAPED)],
  ['with characters of patterns', '00.*+?()[]{}|^$-token', undefined],
  ['with characters of several bytes', LONG_CHARACTERS, undefined],
  ['of several bytes, percent-encoded', LONG_CHARACTERS, encodeURIComponent(LONG_CHARACTERS)],
])('a token %s is removed wherever it is, and replaced in a link', (_spelling, token, spelled = token) => {
  const value = { text: `before ${spelled} after`, list: [{ deep: `${spelled}${spelled}` }], n: 1 }
  expect(removeTokens(JSON.stringify(value), [token])).toEqual({
    text: '{"text":"before  after","list":[{"deep":""}],"n":1}',
    removed: 3,
  })
  const replaceIn = createTokenReplacer([token])
  for (let time = 0; time < 2; time++)
    expect(replaceIn(`?a=1&t=${spelled}&b=%20`, () => '00handle')).toBe('?a=1&t=00handle&b=%20')
})

test('other text stays', () => {
  const text = JSON.stringify({ a: TOKEN.slice(1), b: `%3${TOKEN.slice(1)}`, c: '%252F', d: 'x'.repeat(15) })
  expect(removeTokens(text, [TOKEN, 'x'.repeat(15)])).toEqual({ text, removed: 0 })
})

test('tokens have 16 characters or more; duplicates are dropped, and the longest is first', () => {
  const [long, short] = ['a'.repeat(20), 'b'.repeat(16)]
  expect(tokenList([short, long, 'c'.repeat(15), '', short, long])).toEqual([long, short])
  expect(removeTokens(`"${short}-${long}-${short}"`, [short, long])).toEqual({ text: '"--"', removed: 3 })
  expect(removeTokens(`a ${TOKEN}AndMore b`, [TOKEN, `${TOKEN}AndMore`]).text).toBe('a  b')
})
