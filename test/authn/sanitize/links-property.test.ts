import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type RewriteOptions, rewriteAnswer } from '../../../src/authn/sanitize/links.ts'
import { removeTokens } from '../../../src/authn/sanitize/token-search.ts'
import { findStep } from '../../../src/authn/transaction/transaction.ts'
import { TIMES } from '../../fuzz/fuzz.ts'

/**
 * Random Okta transactions. Each is drawn as a tree of pieces, from which both Okta's answer and the expected answer for
 * the browser are built, piece by piece. So the expected answer never comes from the code
 * under test.
 */

const UPSTREAM = 'https://org.example.com'
const ALIAS = 'https://login.example.com:8443'
const PUBLIC = 'https://portal.example.net'
const HANDLE = `00${'h'.repeat(43)}`
const OPTIONS = {
  upstreamOrigins: [UPSTREAM, ALIAS],
  publicOrigin: PUBLIC,
  handle: HANDLE,
  pictureHandle: (path: string) => `picture-of-${path.length}`,
} satisfies Omit<RewriteOptions, 'knownTokens'>

/** Every token begins with this, and no other text contains it, so that no other text is a token by accident. */
const MARK = 'tkn'

// what is drawn

type TokenName = 'state' | 'session' | 'recovery'
type Tokens = Record<TokenName, string>
type Spelling = 'as it is' | 'encodeURIComponent' | 'every byte' | 'every byte, small letters' | 'twice'
interface TokenRef {
  readonly token: TokenName
  readonly spelling: Spelling
}
type Text = readonly (string | TokenRef)[]

interface DrawnLink {
  readonly kind: 'link'
  readonly host: HostName
  readonly segments: readonly Segment[]
  readonly routed: boolean
  readonly picture: string | undefined
  readonly query: Text
  readonly hash: Text
  readonly hints: unknown
  readonly members: Readonly<Record<string, string>>
}
type Drawn =
  | { readonly kind: 'plain'; readonly value: unknown }
  | { readonly kind: 'text'; readonly text: Text }
  | { readonly kind: 'field'; readonly token: TokenName }
  | { readonly kind: 'list'; readonly members: readonly Drawn[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [Text, Drawn])[] }
  | DrawnLink

/** How a path segment is written in the link and in the rewritten link, and how it is compared in offered paths. */
interface Segment {
  readonly given: string
  readonly compared: string
}

/** Ways to write a host. `ours`: the host is the org's. `null`: the link is relative. */
const HOSTS = {
  plain: { origin: UPSTREAM, ours: true },
  alias: { origin: ALIAS, ours: true },
  'upper case': { origin: 'HTTPS://ORG.EXAMPLE.COM', ours: true },
  'default port': { origin: 'https://org.example.com:443', ours: true },
  'user info': { origin: 'https://user:word@org.example.com', ours: true },
  'without scheme': { origin: '//org.example.com', ours: true },
  relative: { origin: '', ours: true },
  'third party': { origin: 'https://third.example.org', ours: false },
  'look-alike suffix': { origin: 'https://evilorg.example.com', ours: false },
  'look-alike prefix': { origin: 'https://org.example.com.evil.example', ours: false },
  subdomain: { origin: 'https://a.org.example.com', ours: false },
  'parent domain': { origin: 'https://example.com', ours: false },
  'another port': { origin: 'https://org.example.com:8443', ours: false },
  'alias without its port': { origin: 'https://login.example.com', ours: false },
  'another scheme': { origin: 'http://org.example.com', ours: false },
  'host as user': { origin: 'https://org.example.com@evil.example', ours: false },
  'our own address': { origin: PUBLIC, ours: false },
} as const
type HostName = keyof typeof HOSTS

// how it is drawn

const plainText = (max: number) =>
  fc.string({ unit: 'grapheme', maxLength: max }).filter((text) => !text.toLowerCase().includes(MARK))
const word = fc.string({ unit: fc.constantFrom(...'abcdefgh0189_-.'), minLength: 1, maxLength: 12 })
const id = word.filter((text) => !/^\.+$/.test(text) && !text.includes(MARK))

const SPELLINGS: readonly Spelling[] = [
  'as it is',
  'as it is',
  'encodeURIComponent',
  'every byte',
  'every byte, small letters',
  'twice',
]
const tokenRef = fc.record<TokenRef>({
  token: fc.constantFrom('state', 'session', 'recovery'),
  spelling: fc.constantFrom(...SPELLINGS),
})

/** Text pieces and tokens in turn, each token between spaces, so that two adjacent tokens never form a third one. */
const textWith = (piece: fc.Arbitrary<string>, between: string): fc.Arbitrary<Text> =>
  fc
    .array(fc.tuple(piece, fc.option(tokenRef, { nil: undefined })), { minLength: 1, maxLength: 3 })
    .map((pairs) =>
      pairs.flatMap(([text, ref]) => (ref === undefined ? [text] : [text + between, ref, between])),
    )

const segment: fc.Arbitrary<Segment> = fc.oneof(
  { weight: 6, arbitrary: id.map((text) => ({ given: text, compared: text })) },
  // a factor type instead of its id, with colons encoded or not
  { weight: 1, arbitrary: id.map((text) => ({ given: `${text}:a@b`, compared: `${text}%3Aa%40b` })) },
  { weight: 1, arbitrary: id.map((text) => ({ given: `${text}%3aa%40b`, compared: `${text}%3Aa%40b` })) },
  { weight: 1, arbitrary: id.map((text) => ({ given: `${text}%20%C3%A9`, compared: `${text}%20%C3%A9` })) },
  { weight: 1, arbitrary: id.map((text) => ({ given: `${text}%zz`, compared: `${text}%zz` })) },
)
const fixed = (path: string): Segment[] => path.split('/').map((text) => ({ given: text, compared: text }))

interface Path {
  readonly segments: readonly Segment[]
  readonly routed: boolean
  readonly picture?: string
}
const routed = (segments: readonly Segment[]): Path => ({ segments, routed: true })
const notRouted = (path: string): Path => ({ segments: fixed(path), routed: false })

const path: fc.Arbitrary<Path> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .array(segment, { minLength: 1, maxLength: 5 })
      .map((segments) => routed([...fixed('api/v1'), ...segments])),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        segment,
        fc.constantFrom('verify', 'verify/resend', 'lifecycle/activate', 'lifecycle/activate/poll'),
      )
      .map(([factor, rest]) => routed([...fixed('api/v1/authn/factors'), factor, ...fixed(rest)])),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(id, id, id).map(([user, factor, token]) => ({
      segments: fixed(`api/v1/users/${user}/factors/${factor}/qr`),
      routed: true,
      picture: `${MARK}-picture-of-the-upstream-${token}`,
    })),
  },
  { weight: 1, arbitrary: id.map((user) => routed(fixed(`api/v1/users/${user}/factors/questions`))) },
  {
    weight: 3,
    arbitrary: fc.oneof(
      fc.constantFrom('login/step-up/redirect', 'login/token/redirect').map((text) => routed(fixed(text))),
      id.map((name) => routed(fixed(`sso/idps/${name}`))),
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          ...[
            'assets/img',
            'js/sections',
            'api/v10',
            'API/v1',
            'api',
            'api-v1',
            'login',
            'sso/idps',
            'a/api/v1',
          ],
          ...['login/step-up/redirect', 'sso/idps/one'],
        ),
        id,
      )
      // a path two folders deeper, so that it matches no route by accident
      .map(([folder, name]) => notRouted(`${folder}/${name}/more`)),
  },
)

const parameter = fc.oneof(
  {
    weight: 2,
    arbitrary: tokenRef
      .filter(({ spelling }) => spelling !== 'twice') // which would be the name of another token
      .map((ref): Text => ['stateToken=', ref]),
  },
  { weight: 1, arbitrary: tokenRef.map((ref): Text => ['fromURI=%2Fa%3Fb%3D', ref]) },
  { weight: 2, arbitrary: id.map((text): Text => [`rememberDevice=${text}`]) },
)
const query = fc
  .array(parameter, { maxLength: 3 })
  .map((parameters) => parameters.flatMap((one, index): Text => [index === 0 ? '?' : '&', ...one]))
const hash = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Text>([]) },
  { weight: 1, arbitrary: tokenRef.map((ref): Text => ['#/', ref]) },
)

const METHODS = ['GET', 'POST', 'DELETE', 'PUT'] as const
const hints: fc.Arbitrary<unknown> = fc.oneof(
  fc.subarray([...METHODS], { minLength: 1 }).map((allow) => ({ allow })),
  fc.constantFrom<unknown>(
    undefined,
    null,
    {},
    { allow: [] },
    { allow: 'POST' },
    { allow: ['post', 7] },
    'GET',
  ),
)

const link: fc.Arbitrary<DrawnLink> = fc
  .record({
    host: fc.oneof(fc.constantFrom('plain', 'alias'), fc.constantFrom(...(Object.keys(HOSTS) as HostName[]))),
    path,
    query,
    hash,
    hints,
    members: fc.dictionary(fc.constantFrom('name', 'type', 'title'), plainText(8)),
  })
  .map(({ path: { segments, routed: isRouted, picture }, ...rest }) => ({
    kind: 'link' as const,
    ...rest,
    segments,
    routed: isRouted,
    picture,
  }))

const LINK_NAMES = [
  'next',
  'prev',
  'cancel',
  'skip',
  'resend',
  'verify',
  'enroll',
  'send',
  'qrcode',
  'logo',
] as const
const NAMES = [
  '_embedded',
  '_links',
  'factor',
  'factors',
  'policy',
  'user',
  'hrefs',
  'href2',
  '__proto__',
  'status',
]
const ODD_NAMES = ['constructor', 'toString', 'state_token', 'tokens', '', 'é', '17']

const key: fc.Arbitrary<Text> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...NAMES, ...LINK_NAMES).map((name): Text => [name]) },
  { weight: 2, arbitrary: fc.constantFrom(...ODD_NAMES).map((name): Text => [name]) },
  { weight: 1, arbitrary: tokenRef.map((ref): Text => ['key with ', ref, ' in it']) },
)

/** Token members, in random letter case. */
const FIELDS: readonly (readonly [string, TokenName])[] = [
  ['stateToken', 'state'],
  ['sessionToken', 'session'],
  ['recoveryToken', 'recovery'],
  ['statetoken', 'state'],
  ['SessionToken', 'session'],
]

const { value: drawn } = fc.letrec<{ value: Drawn; list: Drawn; object: Drawn }>((tie) => ({
  list: fc.array(tie('value'), { maxLength: 3 }).map((members): Drawn => ({ kind: 'list', members })),
  object: fc
    .uniqueArray(fc.tuple(key, tie('value')), {
      maxLength: 4,
      selector: ([name]) => written(name, undefined),
    })
    .map((members): Drawn => ({ kind: 'object', members })),
  value: fc.oneof(
    { maxDepth: 6, depthSize: 'small', withCrossShrink: true },
    fc.oneof(
      { weight: 4, arbitrary: link },
      { weight: 2, arbitrary: textWith(plainText(12), ' ').map((text): Drawn => ({ kind: 'text', text })) },
      {
        weight: 1,
        arbitrary: fc
          .oneof(fc.boolean(), fc.integer(), fc.double({ noNaN: true }), fc.constant(null), plainText(20))
          .map((value): Drawn => ({ kind: 'plain', value })),
      },
      {
        weight: 1,
        arbitrary: fc
          .constantFrom(...FIELDS)
          .map(([name, token]): Drawn => ({ kind: 'object', members: [[[name], { kind: 'field', token }]] })),
      },
    ),
    tie('list'),
    tie('object'),
    tie('object'),
  ),
}))

const tokenText = fc.string({
  unit: fc.constantFrom(...'abcXYZ0189_-', ...'+/=.~*é"'),
  minLength: 16,
  maxLength: 40,
})
/** Three different tokens. Sometimes one begins with another. */
const tokens: fc.Arbitrary<Tokens> = fc
  .record({ state: tokenText, session: tokenText, recovery: tokenText, nested: fc.boolean() })
  .map(({ state, session, recovery, nested }) => ({
    state: `${MARK}1${state}`,
    session: nested ? `${MARK}1${state}${session}` : `${MARK}2${session}`,
    recovery: `${MARK}3${recovery}`,
  }))

/** Okta's answer: token members, and random content. */
const oktaAnswer = fc.record({
  tokens,
  members: fc.uniqueArray(fc.tuple(key, drawn), {
    maxLength: 5,
    selector: ([name]) => written(name, undefined),
  }),
})

// the answer, and the expected result

interface Offer {
  readonly path: string
  readonly methods: readonly string[]
}
interface Sketch {
  readonly given: Record<string, unknown>
  readonly wanted: Record<string, unknown>
  readonly offers: readonly Offer[]
  /** Paths of links that are not steps. */
  readonly others: readonly string[]
}

function sketch(secrets: Tokens, members: readonly (readonly [Text, Drawn])[]): Sketch {
  const offers: Offer[] = []
  const others: string[] = []

  const build = (one: Drawn): { given: unknown; wanted: unknown } => {
    switch (one.kind) {
      case 'plain':
        return { given: one.value, wanted: one.value }
      case 'text':
        return { given: written(one.text, secrets), wanted: written(one.text, undefined) }
      case 'field':
        return { given: secrets[one.token], wanted: HANDLE }
      case 'list': {
        const built = one.members.map(build)
        return { given: built.map(({ given }) => given), wanted: built.map(({ wanted }) => wanted) }
      }
      case 'object':
        return buildObject(one.members)
      case 'link':
        return buildLink(one)
    }
  }

  const buildObject = (pairs: readonly (readonly [Text, Drawn])[]) => {
    const given: Record<string, unknown> = {}
    const wanted: Record<string, unknown> = {}
    for (const [name, member] of pairs) {
      const built = build(member)
      set(given, written(name, secrets), built.given)
      if (member.kind === 'field' && member.token !== 'state') continue
      set(wanted, written(name, undefined), built.wanted)
    }
    return { given, wanted }
  }

  const buildLink = ({
    host,
    segments,
    routed: isRouted,
    picture,
    query: q,
    hash: h,
    hints: hint,
    members: more,
  }: DrawnLink) => {
    const { origin, ours } = HOSTS[host]
    // no picture token begins with another token, or is one
    const last = picture === undefined ? [] : [`${picture}${ours ? '!' : '-elsewhere'}`]
    const pathGiven = `/${[...segments.map(({ given }) => given), ...last].join('/')}`
    const pathCompared = `/${[...segments.map(({ compared }) => compared), ...last].join('/')}`
    const href = origin + pathGiven + written(q, secrets) + written(h, secrets)
    let wantedHref = origin + pathGiven + written(q, undefined) + written(h, undefined)
    if (ours && isRouted) {
      offers.push({ path: pathCompared, methods: methodsOf(hint) })
      const folder = pathGiven.slice(0, pathGiven.lastIndexOf('/') + 1)
      const publicPath = picture === undefined ? pathGiven : folder + OPTIONS.pictureHandle(pathCompared)
      wantedHref = PUBLIC + publicPath + written(q, undefined, HANDLE) + written(h, undefined, HANDLE)
    } else {
      others.push(pathGiven)
    }
    const given = { ...more, href, ...(hint === undefined ? {} : { hints: hint }) }
    return { given, wanted: { ...given, href: wantedHref } }
  }

  const first = FIELDS.slice(0, 3).map(([name, token]) => [[name], { kind: 'field', token }] as const)
  return { ...buildObject([...first, ...members]), offers, others }
}

/** A text with its tokens, or with replacements. */
function written(text: Text, secrets: Tokens | undefined, instead = ''): string {
  return text
    .map((piece) => {
      if (typeof piece === 'string') return piece
      return secrets === undefined ? instead : spell(secrets[piece.token], piece.spelling)
    })
    .join('')
}

function spell(token: string, spelling: Spelling): string {
  const bytes = [...Buffer.from(token)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  switch (spelling) {
    case 'as it is':
      return token
    case 'encodeURIComponent':
      return encodeURIComponent(token)
    case 'every byte':
      return bytes.toUpperCase()
    case 'every byte, small letters':
      return bytes
    case 'twice':
      return encodeURIComponent(encodeURIComponent(token))
  }
}

function methodsOf(hint: unknown): readonly string[] {
  const allow: unknown = typeof hint === 'object' && hint !== null ? Reflect.get(hint, 'allow') : undefined
  if (!Array.isArray(allow)) return []
  return allow.filter((method) => typeof method === 'string').map((method) => method.toUpperCase())
}

function set(target: object, name: string, value: unknown) {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true })
}

// expected properties

const RUNS = Math.ceil(3000 * TIMES)

/** As the broker does it: rewritten, serialized, filtered. */
function sanitize(given: Record<string, unknown>, knownTokens: readonly string[] = []) {
  const answer: Record<string, unknown> = JSON.parse(JSON.stringify(given)) // as it is transmitted
  const rewritten = rewriteAnswer(answer, { ...OPTIONS, knownTokens })
  const { text } = removeTokens(JSON.stringify(rewritten.body), rewritten.tokens)
  return { text, offered: rewritten.offered, body: JSON.parse(text) as unknown }
}

describe('random Okta answers', () => {
  test('lose every token in every spelling, and every /api/v1/ link to Okta; everything else stays, in its order', () => {
    fc.assert(
      fc.property(oktaAnswer, ({ tokens: secrets, members }) => {
        const { given, wanted } = sketch(secrets, members)
        const { text, body } = sanitize(given)
        expect(body).toEqual(JSON.parse(JSON.stringify(wanted)))
        expect(keysIn(body)).toEqual(keysIn(JSON.parse(JSON.stringify(wanted))))
        for (const secret of Object.values(secrets)) expect(spellingsOf(text)).not.toContain(secret)
        expect(hrefsIn(body).filter(isOurs)).toEqual([])
      }),
      { numRuns: RUNS },
    )
  })

  test('offer exactly the steps with their paths and methods', () => {
    fc.assert(
      fc.property(oktaAnswer, word, ({ tokens: secrets, members }, stray) => {
        const { given, offers, others } = sketch(secrets, members)
        const { offered } = sanitize(given)
        const mayTake = (method: string, at: string) =>
          offers.some(
            (offer) => offer.path === at && (offer.methods.length === 0 || offer.methods.includes(method)),
          )
        const paths = [...offers.map((offer) => offer.path), ...others]
        const near = paths.flatMap((one) => [
          one,
          `${one}/`,
          `${one}/${stray}`,
          one.slice(0, -1),
          one.toUpperCase(),
        ])
        const asked = [...new Set([...near, `/api/v1/authn/${stray}`, '/api/v1/', ''])].flatMap((at) =>
          METHODS.map((method) => ({ method, at })),
        )
        const found = asked.filter(({ method, at }) => findStep(offered, method, at) !== undefined)
        expect(found).toEqual(asked.filter(({ method, at }) => mayTake(method, at)))
        expect(new Set(offered.map((step) => step.path))).toEqual(new Set(offers.map((offer) => offer.path)))
      }),
      { numRuns: Math.ceil(RUNS / 2) },
    )
  })

  test('lose a token that is only in a link to Okta, or in an earlier answer', () => {
    fc.assert(
      fc.property(oktaAnswer, fc.boolean(), ({ tokens: { state }, members }, inLink) => {
        const secrets = { state, session: state, recovery: state }
        const { given } = sketch(secrets, members)
        for (const [field] of FIELDS) delete given[field]
        if (inLink) set(given, 'link', { href: `${UPSTREAM}/a/page?stateToken=${encodeURIComponent(state)}` })
        const { text } = sanitize(given, inLink ? [] : [state])
        expect(spellingsOf(text)).not.toContain(state)
      }),
      { numRuns: Math.ceil(RUNS / 2) },
    )
  })
})

/** Whether it leads to Okta's API. */
function isOurs(href: string): boolean {
  if (!URL.canParse(href, UPSTREAM)) return false
  const { origin, pathname } = new URL(href, UPSTREAM)
  return [UPSTREAM, ALIAS].includes(origin) && pathname.startsWith('/api/v1/')
}

/** The text and its strings, each percent-decoded repeatedly, so that a token shows in one of them in any spelling. */
function spellingsOf(json: string): string {
  const strings = stringsIn(JSON.parse(json))
  const layers = [json, ...strings]
  for (const text of strings) {
    let decoded = text
    for (let round = 0; round < 4; round += 1) {
      decoded = decodeBytes(decoded)
      layers.push(decoded)
    }
  }
  return layers.join('\n')
}

/** Decodes every percent-encoded run that can be decoded. A stray percent sign stays. */
function decodeBytes(text: string): string {
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => {
    try {
      return decodeURIComponent(run)
    } catch {
      return run
    }
  })
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [name, ...stringsIn(member)])
}

function keysIn(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.entries(value).map(([name, member]) => [name, keysIn(member)])
}

function hrefsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'href' && typeof member === 'string' ? [member] : hrefsIn(member),
  )
}
