import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { rewriteAnswer } from '../../../src/authn/sanitize/links.ts'
import { removeTokens } from '../../../src/authn/sanitize/token-search.ts'
import { TIMES } from '../../fuzz/fuzz.ts'

/**
 * Random Okta answers. Each is drawn as a function of the side that reads it: Okta's answer has
 * tokens and links to the org, the browser's has neither. So the expected answer never comes from
 * the code under test.
 */
const UPSTREAM = 'https://org.example.com'
const ALIAS = 'https://login.example.com:8443'
const PUBLIC = 'https://portal.example.net'
const HANDLE = `00${'h'.repeat(43)}`

/**
 * Every token begins with this, and no other text contains it, so that no other text is a token by
 * accident.
 */
const MARK = 'tkn'

const FIELDS = ['stateToken', 'sessionToken', 'recoveryToken'] as const
type Field = (typeof FIELDS)[number]
type Tokens = Readonly<Record<Field, string>>

/** What Okta sends if there are tokens, else what the browser must get. undefined: nothing. */
type Drawn<Value = unknown> = (tokens: Tokens | undefined) => Value

/** Ways to write a host: those of the org, then others. */
const OURS = [
  UPSTREAM,
  ALIAS,
  'HTTPS://ORG.EXAMPLE.COM',
  'https://org.example.com:443',
  'https://user:word@org.example.com',
  '//org.example.com',
  '',
]
const OTHERS = [
  'https://third.example.org',
  'https://evilorg.example.com',
  'https://org.example.com.evil.example',
  'https://a.org.example.com',
  'https://example.com',
  'https://org.example.com:8443',
  'https://login.example.com',
  'http://org.example.com',
  'https://org.example.com@evil.example',
  PUBLIC,
]

const everyByte = (token: string) =>
  [...Buffer.from(token)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
const SPELLINGS = [
  (token: string) => token,
  encodeURIComponent,
  everyByte,
  (token: string) => everyByte(token).toUpperCase(),
]

/**
 * A token in one of its spellings, which the browser's answer has not. In a link to a route of the
 * broker it is the handle.
 */
const token = fc.record({ field: fc.constantFrom(...FIELDS), spell: fc.constantFrom(...SPELLINGS) }).map(
  ({ field, spell }) =>
    (tokens: Tokens | undefined, instead = '') =>
      tokens === undefined ? instead : spell(tokens[field]),
)

const word = fc.string({ unit: fc.constantFrom(...'abcdefgh0189_-'), minLength: 1, maxLength: 12 })
const plainText = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .filter((text) => !text.toLowerCase().includes(MARK))

const text: fc.Arbitrary<Drawn<string>> = fc
  .tuple(plainText, fc.option(token, { nil: () => '' }), plainText)
  .map(
    ([before, secret, after]): Drawn<string> =>
      (tokens) =>
        `${before} ${secret(tokens)} ${after}`,
  )

const path = fc.oneof(
  fc
    .tuple(word, fc.constantFrom('', '/verify', '/lifecycle/activate/poll'))
    .map(([id, rest]) => ({ path: `/api/v1/authn/factors/${id}${rest}`, isRoute: true })),
  fc
    .constantFrom('/login/step-up/redirect', '/login/token/redirect', '/sso/idps/0oa1', '/api/v1/x')
    .map((path) => ({ path, isRoute: true })),
  fc
    .constantFrom('/assets/img', '/api/v10/x', '/API/v1/authn', '/login/token/redirect/more', '/a/api/v1/b')
    .map((path) => ({ path, isRoute: false })),
)

const link: fc.Arbitrary<Drawn> = fc
  .record({
    origin: fc.oneof(fc.constantFrom(...OURS), fc.constantFrom(...OTHERS)),
    path,
    name: fc.constantFrom('stateToken', 'fromURI', 'a'),
    secret: token,
    hash: fc.constantFrom('', '#x'),
    hints: fc.constantFrom<unknown>({ allow: ['GET', 'POST'] }, null, 'GET'),
  })
  .map(
    ({ origin, path: { path, isRoute }, name, secret, hash, hints }): Drawn =>
      (tokens) => {
        const isMoved = isRoute && OURS.includes(origin) && tokens === undefined
        const query = `?x=1&${name}=${secret(tokens, isMoved ? HANDLE : '')}`
        return { href: (isMoved ? PUBLIC : origin) + path + query + hash, hints }
      },
  )

const field: fc.Arbitrary<Drawn> = fc.tuple(fc.constantFrom(...FIELDS), fc.boolean()).map(
  ([name, isUpper]): Drawn =>
    (tokens) => {
      const key = isUpper ? name.toUpperCase() : name
      if (tokens !== undefined) return { [key]: tokens[name] }
      return name === 'stateToken' ? { [key]: HANDLE } : {}
    },
)

const key = fc.constantFrom('_embedded', '_links', 'next', 'factors', 'href2', '__proto__', 'constructor', '')
const { value } = fc.letrec<{ value: Drawn }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, depthSize: 'small', withCrossShrink: true },
    fc.oneof(link, text, field, fc.jsonValue({ maxDepth: 0 }).filter(isPlain).map(constant)),
    fc.array(tie('value'), { maxLength: 3 }).map(
      (members): Drawn =>
        (tokens) =>
          members.map((member) => member(tokens)),
    ),
    fc.uniqueArray(fc.tuple(key, tie('value')), { maxLength: 4, selector: ([name]) => name }).map(
      (members): Drawn =>
        (tokens) =>
          objectOf(members.map(([name, drawn]) => [name, drawn(tokens)])),
    ),
  ),
}))

const tokenText = fc.string({ unit: fc.constantFrom(...'abcXYZ019_-+/=.~*é"'), minLength: 16, maxLength: 40 })
/** Three different tokens. Sometimes one begins with another. */
const tokens: fc.Arbitrary<Tokens> = fc
  .tuple(tokenText, tokenText, tokenText, fc.boolean())
  .map(([state, session, recovery, isNested]) => ({
    stateToken: `${MARK}1${state}`,
    sessionToken: isNested ? `${MARK}1${state}${session}` : `${MARK}2${session}`,
    recoveryToken: `${MARK}3${recovery}`,
  }))

describe('random Okta answers', () => {
  // shows, F-1.17, V1.2.3, V1.2.9, V10.1.1
  test('lose every token in every spelling, and every /api/v1/ link to Okta; everything else stays, in its order', () => {
    fc.assert(
      fc.property(tokens, value, (secrets, drawn) => {
        // as it is transmitted
        const given = JSON.parse(JSON.stringify({ ...secrets, value: drawn(secrets) }))
        const { body, tokens: found } = rewriteAnswer(given, {
          upstreamOrigins: [UPSTREAM, ALIAS],
          publicOrigin: PUBLIC,
          handle: HANDLE,
          pictureHandle: () => '',
          knownTokens: [],
        })
        const answer = removeTokens(JSON.stringify(body), found).text
        expect(answer).toBe(JSON.stringify({ stateToken: HANDLE, value: drawn(undefined) }))
        for (const secret of Object.values(secrets)) expect(decoded(answer)).not.toContain(secret)
      }),
      { numRuns: Math.ceil(1000 * TIMES) },
    )
  })
})

function constant(plain: unknown): Drawn {
  return () => plain
}

function isPlain(plain: unknown): boolean {
  return typeof plain !== 'string' || !plain.includes(MARK)
}

/** With own members, whatever their names. */
function objectOf(members: (readonly [string, unknown])[]): object {
  const object = {}
  for (const [name, value] of members)
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
  return object
}

/** Percent-decoded, so that a token shows in any spelling. */
function decoded(given: string): string {
  return given.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
}
