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
  return cutAll(serialized, tokenList(tokens), JSON_STRING)
}

/**
 * With the handle in the place of each token. Without one, what stood before and behind a token meets; with one, a new token
 * could stand there only if the upstream knew the handle, and the last guard looks at all of it once more.
 */
export function swapTokens(text: string, tokens: readonly string[], handle: string): string {
  if (text === '') return text
  if (handle === '') return cutAll(text, tokens, PLAIN).text
  return tokens.reduce((swapped, token) => replaceToken(swapped, token, PLAIN, handle).text, text)
}

interface Cut {
  readonly text: string
  readonly cut: number
}

/** A token within a token within… An answer that is meant for somebody has none, or one by mistake. */
const MAX_ROUNDS = 32

/** Until none is found: what stood before and behind one can be a token itself. */
function cutAll(given: string, tokens: readonly string[], form: Form): Cut {
  let text = given
  let cut = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = cut
    for (const token of tokens) {
      const without = replaceToken(text, token, form, '')
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
function replaceToken(given: string, token: string, form: Form, by: string) {
  const plain = given.split(form.written(token))
  const text = plain.join(by)
  const [first, ...others] = MAY_HOLD_ESCAPES.test(text) ? patternsOf(token, form) : []
  const parts: string[] = []
  let from = 0
  for (let start = first?.exec(text); first && start; start = first.exec(text)) {
    const end = endOfMatch(text, first.lastIndex, others)
    first.lastIndex = end ?? start.index + 1
    if (end === undefined) continue
    parts.push(text.slice(from, start.index))
    from = end
  }
  return { text: [...parts, text.slice(from)].join(by), count: plain.length - 1 + parts.length }
}

/** Where the last of the patterns ends if they match one behind the other. */
function endOfMatch(text: string, start: number, patterns: readonly RegExp[]): number | undefined {
  let end = start
  for (const pattern of patterns) {
    pattern.lastIndex = end
    if (!pattern.test(text)) return undefined
    end = pattern.lastIndex
  }
  return end
}

/**
 * One pattern per character: the characters are few, and a pattern for each new token takes milliseconds to compile. Where a
 * character can begin or end an escape, only the text behind it shows how to read it, and only a single pattern for the rest
 * of the token tries both.
 */
function patternsOf(token: string, form: Form): RegExp[] {
  const parts = token.match(/(?:[%&\\]|.;).*|./gsu) ?? []
  return parts.map((part, n) => patternOf(part, form, n === 0))
}

function patternOf(part: string, { written, patterns }: Form, isFirst: boolean): RegExp {
  const key = isFirst ? `first ${part}` : part
  const known = patterns.get(key)
  if (known !== undefined) {
    known.lastIndex = 0 // a search that threw leaves another one
    return known
  }
  const spelled = [...part].map((character, n) => spellings(character, written, isFirst && n === 0))
  const pattern = new RegExp(spelled.join(''), isFirst ? 'g' : 'y')
  if (/^[ -~]$/.test(part)) patterns.set(key, pattern)
  return pattern
}

/**
 * A pattern for the ways to write a character. A first character takes one backslash of a row: else the search of a text of
 * backslashes would begin anew at each of them.
 */
function spellings(character: string, written: (character: string) => string, isFirst: boolean): string {
  const code = character.codePointAt(0) ?? 0
  const units = Array.from({ length: character.length }, (_, n) => hexOf(character.charCodeAt(n), 4))
  const backslash = `(?:${escapeForPattern(written('\\'))}|%(?:25)*5[cC])`
  const escaped = isFirst ? backslash : `${backslash}+`
  const semicolon = `(?:;|%(?:25)*3[bB])`
  const entity = `(?:&|%(?:25)*26|${backslash}u0026)(?:amp${semicolon})*(?:#|%(?:25)*23)`
  const alternatives = [
    escapeForPattern(written(character)),
    percentEncoded(character),
    units.map((unit) => `%(?:25)*u${unit}`).join(''),
    units.map((unit) => `${escaped}u${unit}`).join(''),
    `${escaped}u\\{0*${hexOf(code)}\\}`,
    `${entity}(?:0*${code}(?!\\d)|[xX]0*${hexOf(code)}(?![\\da-fA-F]))${semicolon}?`,
    ...(code < 256 ? [`${escaped}x${hexOf(code, 2)}`] : []),
    ...(character === '/' ? [`${escaped}/`] : []),
  ]
  return `(?:${alternatives.join('|')})`
}

const MAY_HOLD_ESCAPES = /[%&]|\\[ux/]/i

/** How a text writes a character that is not escaped further, and the patterns of characters in such a text. */
interface Form {
  readonly written: (character: string) => string
  readonly patterns: Map<string, RegExp>
}
const PLAIN: Form = { written: (character) => character, patterns: new Map() }
const JSON_STRING: Form = {
  written: (character) => JSON.stringify(character).slice(1, -1),
  patterns: new Map(),
}

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
