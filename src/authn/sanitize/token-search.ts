/**
 * Finds Okta's tokens in text, and removes them. `filterTokens` in sanitize.ts is the last filter
 * before the browser; links.ts removes the fields with tokens. Pure: no packages, no I/O.
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

/**
 * Some answers have a token only in the query or fragment of a link to the org (docs/conformance.md
 * F-1.14).
 */
export function tokensInUrl(url: URL | undefined): string[] {
  if (url === undefined || (url.search === '' && url.hash === '')) return []
  const fragment = new URLSearchParams(url.hash.replace(/^#\/?\??/, ''))
  return [...url.searchParams, ...fragment].flatMap(([name, value]) =>
    name === 'token' || tokenField(name) !== undefined ? [value] : [],
  )
}

/**
 * Replaces token parameters of a link, even short ones: a state token with the handle, other tokens
 * with nothing.
 */
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

/**
 * Okta's answers have a few tokens. Searching for thousands of them in a large answer would block
 * the event loop for minutes.
 */
const MAX_TOKENS = 100
/** Okta's have up to a hundred. */
const MAX_TOKEN_CHARS = 4096
/** Each further one finds tokens that the removal of others has put together. */
const MAX_PASSES = 3

/** The answer has more than any answer of Okta. The message says of what. */
export class UnusableAnswer extends Error {}

/**
 * Without duplicates and short strings. The longest token is first, in case it begins with another
 * one.
 *
 * @throws UnusableAnswer
 */
export function tokenList(tokens: readonly string[]): string[] {
  const sorted = distinct(tokens)
  if (sorted.length > MAX_TOKENS) throw new UnusableAnswer('too many tokens')
  if ((sorted[0] ?? '').length > MAX_TOKEN_CHARS) throw new UnusableAnswer('token too long')
  return sorted
}

function distinct(tokens: readonly string[]): string[] {
  const real = new Set(tokens.filter((token) => token.length >= MIN_TOKEN_CHARS))
  return [...real].sort((a, b) => b.length - a.length)
}

interface Removed {
  readonly text: string
  readonly removed: number
}

/**
 * The token filter: removes tokens from the serialized answer, as they are or percent-encoded.
 *
 * @throws UnusableAnswer
 */
export function removeTokens(serialized: string, tokens: readonly string[]): Removed {
  const replaceIn = createTokenReplacer(distinct(tokens))
  let [text, before, removed] = [serialized, '', 0]
  const remove = () => {
    removed += 1
    return ''
  }
  for (let pass = 0; text !== before; pass += 1) {
    if (pass > MAX_PASSES) throw new UnusableAnswer('too many tokens')
    before = text // the text around a removed token may be a token itself
    text = replaceIn(text, remove)
  }
  return { text, removed }
}

/**
 * Returns a function that replaces each token in a text. It makes a pattern of a token only once.
 */
export function createTokenReplacer(tokens: readonly string[]) {
  const patterns = new Map<string, RegExp>()
  const patternFor = (token: string) => {
    const pattern = patterns.get(token) ?? patternOf(token)
    patterns.set(token, pattern)
    return pattern
  }

  return (text: string, replacement: () => string): string =>
    tokens.reduce((rest, token) => {
      // only a text that can contain another spelling than the token itself: a pattern takes longer
      const needsPattern = rest.includes('%') || ESCAPED_IN_JSON.test(token)
      return rest.replaceAll(needsPattern ? patternFor(token) : token, replacement)
    }, text)
}

const ESCAPED_IN_JSON = /["\\\p{Cc}\p{Cs}]/u

/** Matches the token with any of its characters percent-encoded, or escaped as JSON must. */
function patternOf(token: string): RegExp {
  const characters = [...token].map((character) => {
    const written = [character, JSON.stringify(character).slice(1, -1)].map(escapeForPattern)
    return `(?:${[...new Set(written), percentEncoded(character)].join('|')})`
  })
  return new RegExp(characters.join(''), 'g')
}

const BYTES = new TextEncoder()

/** In any letter case. */
function percentEncoded(character: string): string {
  const bytes = [...BYTES.encode(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
  return bytes.join('').replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}

function escapeForPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
