/**
 * Finds Okta's tokens in text, and removes them. `filterTokens` in sanitize.ts is the last filter before the browser;
 * links.ts removes the fields with tokens. Pure: no packages, no I/O.
 */

/** A shorter string is not a token. Removing it would damage other text. */
const MIN_TOKEN_CHARS = 16

const FIELDS = ['stateToken', 'sessionToken', 'recoveryToken'] as const
export type TokenField = (typeof FIELDS)[number]

const FIELD_BY_NAME: ReadonlyMap<string, TokenField> = new Map(
  FIELDS.map((field) => [field.toLowerCase(), field]),
)

/** The token field of this name in any letter case; undefined if the name is not one of a token. */
export function tokenField(name: string): TokenField | undefined {
  return FIELD_BY_NAME.get(name.toLowerCase())
}

/** Some answers have a token only in the query or fragment of a link to the org (docs/conformance.md F-1.14). */
export function tokensInUrl(url: URL | undefined): string[] {
  if (url === undefined || (url.search === '' && url.hash === '')) return []
  const fragment = new URLSearchParams(url.hash.replace(/^#\/?\??/, ''))
  return [...url.searchParams, ...fragment].flatMap(([name, value]) =>
    name === 'token' || tokenField(name) !== undefined ? [value] : [],
  )
}

/** Replaces token parameters of a link, even short ones: a state token with the handle, other tokens with nothing. */
export function replaceParameters(link: string, handle: string): string {
  return link.replace(PARAMETER, (parameter: string, before: string, name: string) => {
    const field = tokenField(decoded(name))
    if (field === undefined) return parameter
    return `${before}${name}=${field === 'stateToken' ? handle : ''}`
  })
}

/** A parameter in the query or fragment. A fragment may contain its own query, after a slash. */
const PARAMETER = /([?&#/])([^=&?#/]+)=([^&#]*)/g

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name // an invalid escape: not the name of a token
  }
}

/** Without duplicates and short strings. The longest token is first, in case it begins with another one. */
export function tokenList(tokens: readonly string[]): string[] {
  const real = new Set(tokens.filter((token) => token.length >= MIN_TOKEN_CHARS))
  return [...real].sort((one, other) => other.length - one.length)
}

/** The token filter: removes tokens from the serialized answer. Throws a RangeError if tokens are nested too deeply. */
export function removeTokens(serialized: string, tokens: readonly string[]): Removed {
  return removeAll(serialized, tokenList(tokens), JSON_STRING)
}

/**
 * Replaces each token with the handle, or with nothing. Without a handle, the text around a token is joined and may be
 * a token itself, so the search is repeated. With a handle it is not, because the token filter searches the whole
 * answer again.
 */
export function replaceTokens(text: string, tokens: readonly string[], handle: string): string {
  if (text === '') return text
  if (handle === '') return removeAll(text, tokens, PLAIN).text
  return tokens.reduce((replaced, token) => replaceToken(replaced, token, PLAIN, handle).text, text)
}

interface Removed {
  readonly text: string
  readonly removed: number
}

/** How deeply tokens may be nested in tokens. Okta's answers have no nested tokens. */
const MAX_ROUNDS = 32

/** Repeats until no token is found, because the text around a removed token may be a token itself. */
function removeAll(given: string, tokens: readonly string[], format: TextFormat): Removed {
  let text = given
  let removed = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = removed
    for (const token of tokens) {
      const without = replaceToken(text, token, format, '')
      removed += without.count
      text = without.text
    }
    if (removed === before) return { text, removed }
  }
  throw new RangeError('tokens are nested too deeply')
}

/**
 * Finds a token as it is, and with any of its characters percent-encoded, escaped as in JavaScript or JSON, or as an
 * HTML entity, once or several times (a URL in a query, JSON in a JSON string).
 */
function replaceToken(given: string, token: string, format: TextFormat, by: string) {
  const plain = given.split(format.written(token))
  const text = plain.join(by)
  const [first, ...others] = MAY_HOLD_ESCAPES.test(text) ? toPatterns(token, format) : []
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

/** The end of the match if all patterns match, one directly after the other. */
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
 * One pattern per character, because these can be cached, and compiling a pattern for each new token takes
 * milliseconds. From a character that can begin or end an escape, one pattern covers the rest of the token, because
 * only a single pattern can backtrack.
 */
function toPatterns(token: string, format: TextFormat): RegExp[] {
  const parts = token.match(/(?:[%&\\]|.;).*|./gsu) ?? []
  return parts.map((part, n) => toPattern(part, format, n === 0))
}

function toPattern(part: string, { written, patterns }: TextFormat, isFirst: boolean): RegExp {
  const key = isFirst ? `first ${part}` : part
  const known = patterns.get(key)
  if (known !== undefined) {
    known.lastIndex = 0 // an interrupted search leaves another value
    return known
  }
  const spelled = [...part].map((character, n) => spellings(character, written, isFirst && n === 0))
  const pattern = new RegExp(spelled.join(''), isFirst ? 'g' : 'y')
  if (/^[ -~]$/.test(part)) patterns.set(key, pattern)
  return pattern
}

/**
 * A pattern for all spellings of a character. For a token's first character it matches only one of several backslashes,
 * or the search of a text of backslashes would take quadratic time.
 */
function spellings(character: string, written: (character: string) => string, isFirst: boolean): string {
  const code = character.codePointAt(0) ?? 0
  const units = Array.from({ length: character.length }, (_, n) => hexPattern(character.charCodeAt(n), 4))
  const backslash = `(?:${escapeForPattern(written('\\'))}|%(?:25)*5[cC])`
  const escaped = isFirst ? backslash : `${backslash}+`
  const semicolon = `(?:;|%(?:25)*3[bB])`
  const entity = `(?:&|%(?:25)*26|${backslash}u0026)(?:amp${semicolon})*(?:#|%(?:25)*23)`
  const alternatives = [
    escapeForPattern(written(character)),
    percentEncoded(character),
    units.map((unit) => `%(?:25)*u${unit}`).join(''),
    units.map((unit) => `${escaped}u${unit}`).join(''),
    `${escaped}u\\{0*${hexPattern(code)}\\}`,
    `${entity}(?:0*${code}(?!\\d)|[xX]0*${hexPattern(code)}(?![\\da-fA-F]))${semicolon}?`,
    ...(code < 256 ? [`${escaped}x${hexPattern(code, 2)}`] : []),
    ...(character === '/' ? [`${escaped}/`] : []),
  ]
  return `(?:${alternatives.join('|')})`
}

const MAY_HOLD_ESCAPES = /[%&]|\\[ux/]/i

/** A kind of text: how it writes an unescaped character, and its cached patterns. */
interface TextFormat {
  readonly written: (character: string) => string
  readonly patterns: Map<string, RegExp>
}
const PLAIN: TextFormat = { written: (character) => character, patterns: new Map() }
const JSON_STRING: TextFormat = {
  written: (character) => JSON.stringify(character).slice(1, -1),
  patterns: new Map(),
}

const BYTES = new TextEncoder()

function percentEncoded(character: string): string {
  return [...BYTES.encode(character)].map((byte) => `%(?:25)*${hexPattern(byte, 2)}`).join('')
}

/** A pattern for a number in hexadecimal digits of any letter case. */
function hexPattern(code: number, digits = 1): string {
  const text = code.toString(16).padStart(digits, '0')
  return text.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}

function escapeForPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
