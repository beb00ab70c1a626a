/**
 * Okta's tokens in an answer: which strings they are, and how they are removed from text, however they are spelled. Pure: no
 * package, no input or output.
 */

/** A shorter string is no token: removing it would damage other text. */
const MIN_TOKEN_CHARS = 16

const FIELDS = ['stateToken', 'sessionToken', 'recoveryToken'] as const
export type TokenField = (typeof FIELDS)[number]

const FIELD_BY_NAME: ReadonlyMap<string, TokenField> = new Map(
  FIELDS.map((field) => [field.toLowerCase(), field]),
)

/** Which token a member of this name is, in any letter case; undefined: none. */
export function tokenField(name: string): TokenField | undefined {
  return FIELD_BY_NAME.get(name.toLowerCase())
}

/** Some answers contain a token only in the query, or the fragment, of a link to the org (field notes). */
export function tokensInUrl(url: URL | undefined): string[] {
  if (url === undefined || (url.search === '' && url.hash === '')) return []
  const fragment = new URLSearchParams(url.hash.replace(/^#\/?\??/, ''))
  return [...url.searchParams, ...fragment].flatMap(([name, value]) =>
    name === 'token' || tokenField(name) !== undefined ? [value] : [],
  )
}

/**
 * Replaces the parameters of a link that are tokens by their name, however short their value is: a state token by the handle,
 * other ones by nothing. Everything else keeps its spelling.
 */
export function replaceParameters(link: string, handle: string): string {
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
    return name // a percent sign that starts no escape: not the name of a token
  }
}

/** Without duplicates and short strings. The longest comes first: of a token that begins with another one nothing remains. */
export function tokenList(tokens: readonly string[]): string[] {
  const real = new Set(tokens.filter((token) => token.length >= MIN_TOKEN_CHARS))
  return [...real].sort((one, other) => other.length - one.length)
}

/**
 * The token filter: removes real tokens from the serialized answer. Throws a RangeError if tokens are nested so deep that it would
 * take too long: such an answer is not one of the API.
 */
export function removeTokens(serialized: string, tokens: readonly string[]): Removed {
  return removeAll(serialized, tokenList(tokens), JSON_STRING)
}

/**
 * Replaces each token by the handle, or by nothing. Removing a token joins the text around it, which may be a token itself. With
 * a handle between, that is one only if Okta knew the handle, and the token filter searches the whole answer again.
 */
export function replaceTokens(text: string, tokens: readonly string[], handle: string): string {
  if (text === '') return text
  if (handle === '') return removeAll(text, tokens, PLAIN).text
  return tokens.reduce((replaced, token) => replaceToken(replaced, token, PLAIN, handle).text, text)
}

interface Removed {
  readonly text: string
  /** How many tokens were removed. */
  readonly removed: number
}

/** A token within a token within a token: a real answer has none, or one by mistake. */
const MAX_ROUNDS = 32

/** Repeats until no token is found: the text around a removed token can be one itself. */
function removeAll(given: string, tokens: readonly string[], form: Form): Removed {
  let text = given
  let removed = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = removed
    for (const token of tokens) {
      const without = replaceToken(text, token, form, '')
      removed += without.count
      text = without.text
    }
    if (removed === before) return { text, removed }
  }
  throw new RangeError('tokens within tokens')
}

/**
 * Finds a token as it is, and with any of its characters percent-encoded, escaped as in JavaScript or JSON, or as an HTML entity:
 * once or several times (a URL in a query, JSON in a string of JSON).
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

/** Where the last pattern's match ends if all match, one after the other. */
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
 * One pattern for each character, because there are few characters, and compiling a pattern for each new token takes
 * milliseconds. After a character that can begin or end an escape, one pattern covers the rest of the token, because only a
 * single pattern tries both readings.
 */
function patternsOf(token: string, form: Form): RegExp[] {
  const parts = token.match(/(?:[%&\\]|.;).*|./gsu) ?? []
  return parts.map((part, n) => patternOf(part, form, n === 0))
}

function patternOf(part: string, { written, patterns }: Form, isFirst: boolean): RegExp {
  const key = isFirst ? `first ${part}` : part
  const known = patterns.get(key)
  if (known !== undefined) {
    known.lastIndex = 0 // a search that threw leaves another value
    return known
  }
  const spelled = [...part].map((character, n) => spellings(character, written, isFirst && n === 0))
  const pattern = new RegExp(spelled.join(''), isFirst ? 'g' : 'y')
  if (/^[ -~]$/.test(part)) patterns.set(key, pattern)
  return pattern
}

/**
 * A pattern for all spellings of a character. The first character of a token accepts only one backslash of several: otherwise the
 * search of a text of backslashes would start again at each of them.
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

/** How a kind of text writes a plain character, and the patterns for characters in such a text. */
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
