import { describe, expect, test } from '@jest/globals'
import { removeTokens, replaceTokens } from '../../../src/authn/sanitize/token-search.ts'

/** A token in any spelling is removed, and the rest is the same JSON without it. */

const TOKEN = '00Plainly-Fake_Token.0123~456789'
const CHARS = [...TOKEN]
const hex = (char: string, digits: number) => (char.codePointAt(0) ?? 0).toString(16).padStart(digits, '0')
const each = (spell: (char: string) => string) => CHARS.map(spell).join('')
const everyOther = (spell: (char: string) => string) =>
  CHARS.map((char, n) => (n % 2 === 0 ? spell(char) : char)).join('')
const unicode = (char: string) => `\\u${hex(char, 4)}`
const twice = (text: string) => JSON.stringify(text).slice(1, -1)

const SPELLINGS: Record<string, string> = {
  'as it is': TOKEN,
  'with \\u00xx': each(unicode),
  'with \\u00xx in upper case': each((char) => `\\u${hex(char, 4).toUpperCase()}`),
  'with \\u00xx for some characters': everyOther(unicode),
  'with \\u00xx in JSON within JSON': twice(each(unicode)),
  'with \\u00xx in JSON within JSON within JSON': twice(twice(everyOther(unicode))),
  'with \\u{xx}': each((char) => `\\u{${hex(char, 2)}}`),
  'with \\xxx': each((char) => `\\x${hex(char, 2)}`),
  'percent-encoded': each((char) => `%${hex(char, 2)}`),
  'percent-encoded, twice': everyOther((char) => `%25${hex(char, 2)}`),
  'percent-encoded as \\u00xx': each((char) => `%5Cu${hex(char, 4)}`),
  'with %u00xx': each((char) => `%u${hex(char, 4)}`),
  'in decimal HTML entities': each((char) => `&#${char.codePointAt(0)};`),
  'in hexadecimal HTML entities': each((char) => `&#x${hex(char, 2)};`),
  'in HTML entities with leading zeros, and without semicolons where they are optional': CHARS.map(
    (char, n) =>
      n % 3 === 0
        ? `&#X000${hex(char, 2)};`
        : n % 3 === 1 && !/[\da-f]/i.test(CHARS[n + 1] ?? '')
          ? `&#0${char.codePointAt(0)}`
          : char,
  ).join(''),
  'in HTML entities within HTML': each((char) => `&amp;#${char.codePointAt(0)};`),
  'in HTML entities, percent-encoded': each((char) => `%26%23${char.codePointAt(0)}%3B`),
  'in HTML entities within HTML, percent-encoded': each((char) => `%26amp%3B%23${char.codePointAt(0)}%3B`),
  'in HTML entities within HTML, percent-encoded twice': each(
    (char) => `%2526amp%253bamp%253B%2523x${hex(char, 2)}%253B`,
  ),
  'in HTML entities that JSON escapes': each((char) => `\\u0026#x${hex(char, 2)};`),
  'in all of these in turn': CHARS.map(
    (char, n) =>
      [unicode(char), `%${hex(char, 2)}`, `&#${char.codePointAt(0)};`, char, twice(unicode(char))][n % 5],
  ).join(''),
}

/** Of several backslashes before a token, all but the last may remain. */
const plain = (text: string) => text.replaceAll('\\', '')

describe.each(Object.entries(SPELLINGS))('a token %s', (_spelling, spelled) => {
  test.each([
    ['alone', '', ''],
    ['in text', 'before ', ' after'],
    ['in JSON in a string', '{"deep":{"token":"', '"},"n":1}'],
    ['after backslashes', 'C:\\\\', '\\\\'],
    ['twice', `${spelled} and `, ''],
  ])('%s is removed', (_where, before, after) => {
    const { text, removed } = removeTokens(JSON.stringify({ value: before + spelled + after, n: 1 }), [TOKEN])
    expect(removed).toBe(before.includes(' and ') ? 2 : 1)
    const { value, n } = JSON.parse(text)
    expect([plain(value), n]).toEqual([plain(before.replace(spelled, '') + after), 1])
  })

  test('is replaced with the handle in a link', () => {
    expect(plain(replaceTokens(`?a=1&t=${spelled}&b=2`, [TOKEN], '00handle'))).toBe('?a=1&t=00handle&b=2')
  })
})

/** Text before a token can look like the beginning of an escape that ends with the token's first characters. */
describe.each([
  '%',
  '%2',
  '%u',
  '%u00',
  '\\',
  '\\u',
  '\\u00',
  '\\u{',
  '\\x',
  '&',
  '&#',
  '&#x',
  '&#0',
  '&amp;#',
  '%26%23',
])('after %s', (before) => {
  test.each([
    '00Plainly-Fake_Token',
    '41414141-Plainly-Fake',
    'u0041Plainly-Fake',
    'x41-Plainly-Fake_Token',
    '0'.repeat(20),
    'x414141414141-ab',
    'amp;#65;/%41\\u0041&',
    '5cu0041-Plainly-Fake',
  ])('the token %s is removed', (token) => {
    for (const spelled of [token, `${token.slice(0, 12)}%${hex(token[12] ?? '', 2)}${token.slice(13)}`]) {
      const { text } = removeTokens(JSON.stringify({ value: `${before}${spelled} & more` }), [token])
      expect(text).not.toContain(token.slice(8, 12))
    }
  })
})

test.each([
  ['an entity with an encoded ampersand', (char: string) => `%26%23${char.charCodeAt(0)}`],
  ['an entity with an encoded ampersand, in hexadecimal', (char: string) => `%26%23x${hex(char, 2)}`],
])('%s ends where the next character is spelled differently', (_what, spell) => {
  const digits = (char: string) => `%${hex(char, 2)}`
  const value = CHARS.map((char, n) => (n % 2 === 0 ? spell(char) : digits(char))).join('')
  expect(removeTokens(JSON.stringify({ value }), [TOKEN])).toEqual({ text: '{"value":""}', removed: 1 })
})

test('a token with only its slashes escaped, as in JSON, is removed', () => {
  const value = '00Plainly\\/Fake\\/Token'
  expect(removeTokens(JSON.stringify({ value }), ['00Plainly/Fake/Token'])).toEqual({
    text: '{"value":""}',
    removed: 1,
  })
})

/** Such a spelling can be read in several ways, of which only one is the token. */
test.each([
  ['percent-encoded', encodeURIComponent],
  ['percent-encoded, twice', (token: string) => encodeURIComponent(encodeURIComponent(token))],
  [
    'in HTML entities without semicolons',
    (token: string) => token.replace(/[a-z]/g, (char) => `&#${char.charCodeAt(0)}`),
  ],
])('a token that looks like escapes is removed %s', (_spelling, spell) => {
  const value = spell('a;%25b;&%41;-Plainly-Fake;')
  expect(removeTokens(JSON.stringify({ value }), ['a;%25b;&%41;-Plainly-Fake;'])).toEqual({
    text: '{"value":""}',
    removed: 1,
  })
})

test.each([
  ['a longer number', `&#${'0'.codePointAt(0)}7;`],
  ['another letter', '\\u0031'],
  ['a truncated escape', '\\u003'],
])('%s is not the first character of a token', (_what, first) => {
  const value = first + TOKEN.slice(1)
  expect(removeTokens(JSON.stringify({ value }), [TOKEN])).toEqual({
    text: JSON.stringify({ value }),
    removed: 0,
  })
})
