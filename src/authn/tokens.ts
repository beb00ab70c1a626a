/**
 * Upstream tokens in an answer: which they are, and how they are taken out of text, however they are spelled. Pure:
 * no package, no input or output.
 */

import { walk } from './walk.ts'

/** Below this a string is too short to be a token: cutting it would harm honest text. */
const MIN_TOKEN_CHARS = 16

const FIELDS = ['stateToken', 'sessionToken', 'recoveryToken'] as const
export type TokenField = (typeof FIELDS)[number]

const FIELD_BY_NAME: ReadonlyMap<string, TokenField> = new Map(
  FIELDS.map((field) => [field.toLowerCase(), field]),
)

/** Which token a member of this name is, in whatever letter case; undefined: none. */
export function tokenField(name: string): TokenField | undefined {
  return FIELD_BY_NAME.get(name.toLowerCase())
}

/** Every token the answer names as one, at any depth, also in lists and objects where a string should be. */
export function tokensIn(answer: unknown): string[] {
  const tokens: string[] = []
  walk(answer, (name, member) => {
    if (tokenField(name) === undefined) return
    tokens.push(...stringsIn(member))
    return false
  })
  return tokens
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

/** Some answers name a token only in the query, or the fragment, of a link to the upstream (field notes). */
export function tokensInUrl(url: URL | undefined): string[] {
  if (url === undefined || (url.search === '' && url.hash === '')) return []
  const fragment = new URLSearchParams(url.hash.replace(/^#\/?\??/, ''))
  return [...url.searchParams, ...fragment].flatMap(([name, value]) =>
    name === 'token' || tokenField(name) !== undefined ? [value] : [],
  )
}

/**
 * A link's parameters that are tokens by their name, however short their value is: the handle in the place of a state
 * token, nothing in the place of another one. Everything else keeps its spelling.
 */
export function swapParameters(link: string, handle: string): string {
  return link.replace(PARAMETER, (parameter: string, before: string, name: string) => {
    const field = tokenField(decoded(name))
    if (field === undefined) return parameter
    return `${before}${name}=${field === 'stateToken' ? handle : ''}`
  })
}

/** In the query or the fragment; a fragment may hold a query of its own, with a slash before it. */
const PARAMETER = /([?&#/])([^=&?#/]+)=([^&#]*)/g

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name // a stray percent sign: no name of a token
  }
}

/** Without doubles and what is too short; a token that begins with another one stands first, or its rest would stay. */
export function tokenList(tokens: readonly string[]): string[] {
  const real = new Set(tokens.filter((token) => token.length >= MIN_TOKEN_CHARS))
  return [...real].sort((one, other) => other.length - one.length)
}

/**
 * The last guard: the answer as it would go out is searched for real tokens, and what is found is cut. Throws a RangeError
 * where tokens are nested so deep that it would take too long: as with anything so deep, that is no answer of the API.
 */
export function cutTokens(serialized: string, tokens: readonly string[]): Cut {
  return cutAll(serialized, tokenList(tokens), jsonForm)
}

/**
 * With the handle in the place of each token. Without one, what stood before and behind a token meets; with one, a new token
 * could stand there only if the upstream knew the handle, and the last guard looks at all of it once more.
 */
export function swapTokens(text: string, tokens: readonly string[], handle: string): string {
  if (text === '') return text
  if (handle === '') return cutAll(text, tokens, asItIs).text
  return tokensThatMayBeIn(text, tokens).reduce(
    (swapped, token) => replaceToken(swapped, token, asItIs, handle).text,
    text,
  )
}

interface Cut {
  readonly text: string
  readonly cut: number
}

/** A token within a token within… An answer that is meant for somebody has none, or one by mistake. */
const MAX_ROUNDS = 32

/** Until none is found: what stood before and behind one can be a token itself. */
function cutAll(given: string, tokens: readonly string[], written: (character: string) => string): Cut {
  let text = given
  let cut = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = cut
    for (const token of tokensThatMayBeIn(text, tokens)) {
      const without = replaceToken(text, token, written, '')
      cut += without.count
      text = without.text
    }
    if (cut === before) return { text, cut }
  }
  throw new RangeError('tokens within tokens')
}

/**
 * A token may stand as it is; and each of its characters may be percent-encoded, escaped as in JavaScript or JSON, or an HTML
 * entity, once or (a URL in a query, JSON in a string of JSON) over again.
 */
function replaceToken(given: string, token: string, written: (character: string) => string, by: string) {
  const plain = given.split(written(token))
  const text = plain.join(by)
  const count = plain.length - 1
  if (!MAY_HOLD_ESCAPES.test(text) || (count > 0 && tokensThatMayBeIn(text, [token]).length === 0))
    return { text, count }
  const spelled = [...token].map((character, n) => spellings(character, written, n === 0))
  const parts = text.split(new RegExp(spelled.join('')))
  return { text: parts.join(by), count: count + parts.length - 1 }
}

/** The pattern of a token is dear, and nearly no text has a token: those are left out here that it cannot have. */
function tokensThatMayBeIn(text: string, tokens: readonly string[]): readonly string[] {
  if (!MAY_HOLD_ESCAPES.test(text)) return tokens
  const plain = withoutEscapes(text)
  return plain === undefined ? tokens : tokens.filter((token) => plain.includes(coreOf(token)))
}

/**
 * A part of the token that stands in every text with the token, once the escapes are gone: its characters begin no escape, and
 * they end none that stands before them, whole or cut off. Empty where no part is long enough to be sure.
 */
function coreOf(token: string): string {
  const parts = token.split(/[^\w.~-]/).map((part) => part.replace(END_OF_ESCAPE, ''))
  return parts.find((part) => part.length >= 8) ?? ''
}

/** At the start of a token, this can be taken for the end of a cut-off escape that stands before it, or of one within it. */
const END_OF_ESCAPE = /^[ux\da-f]*/i

/** Every escape that `spellings` knows as its character; undefined: there are escapes within escapes without end. */
function withoutEscapes(given: string): string | undefined {
  let text = given
  for (let round = 0; round < MAX_NESTED; round++) {
    const plain = text.replace(ESCAPE, unescaped)
    if (plain === text) return plain.replace(SET_APART, (mark) => shifted(mark, -APART))
    text = plain
  }
  return undefined
}

const MAX_NESTED = 16

const ESCAPE =
  /&(?:amp;)+|&#[xX]0*([\da-fA-F]{1,6});?|&#0*(\d{1,7});?|(?:%(?:25)*|\\+)[uU]([\da-fA-F]{4})|\\+[uU]\{0*([\da-fA-F]{1,6})\}|\\+[xX]([\da-fA-F]{2})|%(?:25)*([\da-fA-F]{2})/g

/**
 * A character out of an escape is no part of the escape before it: `&#97%31` is a and 1. So it is set apart, in a range of
 * code points that has no meaning, until there is no escape left. What may begin or end an escape is not.
 */
const APART = 0xe000
const SET_APART = /[\ue000-\ue07f]/g
const shifted = (character: string, by: number) => String.fromCharCode(character.charCodeAt(0) + by)

function unescaped(
  whole: string,
  entityHex?: string,
  entity?: string,
  unit?: string,
  point?: string,
  x?: string,
  percent?: string,
): string {
  const hex = entityHex ?? unit ?? point ?? x ?? percent
  const code =
    entity !== undefined ? Number(entity) : hex === undefined ? undefined : Number.parseInt(hex, 16)
  if (code === undefined) return '&'
  if (code > 0x10ffff) return whole
  const character = String.fromCodePoint(code)
  return /\w/.test(character) ? shifted(character, APART) : character
}

const MAY_HOLD_ESCAPES = /[%&]|\\[ux/]/i

/**
 * A pattern for the ways to write a character. A first character takes one backslash of a row: else the search of a text of
 * backslashes would begin anew at each of them.
 */
function spellings(character: string, written: (character: string) => string, isFirst: boolean): string {
  const code = character.codePointAt(0) ?? 0
  const units = Array.from({ length: character.length }, (_, n) => hexOf(character.charCodeAt(n), 4))
  const backslash = `(?:${escapeForPattern(written('\\'))}|%(?:25)*5[cC])`
  const escaped = isFirst ? backslash : `${backslash}+`
  const entity = `(?:&|%(?:25)*26|${backslash}u0026)(?:amp;)*(?:#|%(?:25)*23)`
  const alternatives = [
    escapeForPattern(written(character)),
    percentEncoded(character),
    units.map((unit) => `%(?:25)*u${unit}`).join(''),
    units.map((unit) => `${escaped}u${unit}`).join(''),
    `${escaped}u\\{0*${hexOf(code)}\\}`,
    `${entity}(?:0*${code}(?!\\d)|[xX]0*${hexOf(code)}(?![\\da-fA-F]))(?:;|%(?:25)*3[bB])?`,
    ...(code < 256 ? [`${escaped}x${hexOf(code, 2)}`] : []),
    ...(character === '/' ? [`${escaped}/`] : []),
  ]
  return `(?:${alternatives.join('|')})`
}

const asItIs = (text: string) => text
const jsonForm = (text: string) => JSON.stringify(text).slice(1, -1)

const BYTES = new TextEncoder()

function percentEncoded(character: string): string {
  return [...BYTES.encode(character)].map((byte) => `%(?:25)*${hexOf(byte, 2)}`).join('')
}

/** A pattern for a number in hexadecimal digits, in upper or lower case. */
function hexOf(code: number, digits = 1): string {
  const text = code.toString(16).padStart(digits, '0')
  return text.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}

function escapeForPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
