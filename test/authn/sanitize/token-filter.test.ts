import { beforeEach, describe, expect, test } from '@jest/globals'
import { createSanitizer } from '../../../src/authn/sanitize/sanitize.ts'
import { createTransaction } from '../../../src/authn/transaction/transaction.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { CLIENT } from '../test-client.ts'

const TOKEN = '00stateTokenOfTheUpstream_abcdef'
const RETIRED = '00retiredTokenOfTheUpstream_abcd'
const OWN_SECRET = 'plainly-fake-own-secret'
const HANDLE = `00${'h'.repeat(43)}`
const UPSTREAM = 'https://org.example.com'
const PUBLIC = 'https://portal.example.net'

let metrics: ReturnType<typeof createMetrics>
let collected: ReturnType<typeof collectLog>
let asked: string[][]
beforeEach(() => {
  metrics = createMetrics()
  collected = collectLog()
  asked = []
})

const sanitizer = (hidden: readonly string[] = []) =>
  createSanitizer({
    resources: {
      pictureHandle(device, path) {
        asked.push([device, path])
        return 'picture-handle'
      },
    },
    upstreamOrigins: [UPSTREAM],
    publicOrigin: PUBLIC,
    ownSecrets: [OWN_SECRET],
    hiddenFactors: new Set(hidden),
    log: collected.log,
    metrics,
  })
const before = { ...createTransaction('device', 'ada', 0), stateToken: TOKEN, retiredTokens: [RETIRED] }
const sanitized = (body: Record<string, unknown>, hidden: readonly string[] = [], isError = false) =>
  sanitizer(hidden).step({ body, isError }, { before, handle: HANDLE }, CLIENT)
const removals = async () =>
  (await metrics.tokenLeaksBlocked.get()).values.map(({ labels, value }) => [labels.found_in, value] as const)

describe('the token filter', () => {
  test('removes tokens and the broker’s own secrets, counts each, and raises an alarm without their values', async () => {
    const { text } = sanitized({ a: `x${TOKEN}y`, b: [OWN_SECRET, `${TOKEN}`] })
    expect(text).toBe('{"a":"xy","b":["",""]}')
    expect(await removals()).toEqual([['body', 3]])
    expect(collected.lines()).toMatchObject([
      { level: 'error', event: 'token_leak_blocked', requestId: 'request-1', count: 3 },
    ])
    expect(collected.text()).not.toMatch(/UpstreamOf|00state|fake-own/)
  })
})

describe('an answer of a step', () => {
  test('after a lockout, has nothing that needs a handle, because the transaction has ended (S1)', () => {
    const cancel = { href: `${UPSTREAM}/api/v1/authn/cancel`, hints: { allow: ['POST'] } }
    const next = { name: 'unlock', href: `${UPSTREAM}/api/v1/authn/recovery/unlock` }
    const locked = { status: 'LOCKED_OUT', stateToken: TOKEN, _embedded: {}, _links: { next, cancel } }
    expect(JSON.parse(sanitized(locked).text)).toEqual({
      status: 'LOCKED_OUT',
      _embedded: {},
      _links: { next: { name: 'unlock', href: `${PUBLIC}/api/v1/authn/recovery/unlock` } },
    })
  })

  test.each([undefined, null])('that is an error has a list of causes, instead of %s (S7)', (errorCauses) => {
    const { text } = sanitized({ errorCode: 'E0000014', errorCauses }, [], true)
    expect(JSON.parse(text)).toEqual({ errorCode: 'E0000014', errorCauses: [] })
  })

  test('has the handle, links to PUBLIC_URL, and the steps that Okta offered', async () => {
    const path = '/api/v1/authn/factors/ost1/verify'
    const picture = '/api/v1/users/00u1/factors/ost1/qr/20pictureTokenOfTheUpstream'
    const linksAt = (origin: string, qrcode: string) => ({
      next: { href: origin + path, hints: { allow: ['POST'] } },
      qrcode: { href: origin + qrcode },
    })
    const { text, offered } = sanitized({ stateToken: TOKEN, _links: linksAt(UPSTREAM, picture) })
    const handle = '/api/v1/users/00u1/factors/ost1/qr/picture-handle'
    expect(text).toBe(JSON.stringify({ stateToken: HANDLE, _links: linksAt(PUBLIC, handle) }))
    expect(asked).toEqual([[CLIENT.device.id, picture]])
    expect(offered).toEqual([
      { path, query: '', methods: ['POST'] },
      { path: picture, query: '', methods: [] },
    ])
    expect(await removals()).toEqual([])
  })

  test('has no token of the transaction, also no replaced one; tokens in links are counted separately', async () => {
    const { text } = sanitized({
      a: `${TOKEN} ${RETIRED}`,
      link: { href: `https://elsewhere.example/${TOKEN}` },
    })
    expect(JSON.parse(text)).toEqual({ a: ' ', link: { href: 'https://elsewhere.example/' } })
    expect(await removals()).toEqual([
      ['link', 1],
      ['body', 2],
    ])
  })

  test('has no hidden factor and does not offer one', () => {
    const link = { href: `${UPSTREAM}/api/v1/authn/factors/ufs1/verify` }
    const answer = { _embedded: { factors: [{ factorType: 'question', _links: { verify: link } }] } }
    expect(sanitized(answer, ['question'])).toEqual({
      text: '{"_embedded":{"factors":[]}}',
      offered: [],
    })
    expect(sanitized(answer).offered).toHaveLength(1)
  })

  test('that is nested too deeply is 502', () => {
    let deep: unknown = {}
    for (let depth = 0; depth < 20_000; depth++) deep = { deep }
    expect(() => sanitized({ deep })).toThrow(
      expect.objectContaining({
        status: 502,
        code: 'E0000009',
        cause: expect.objectContaining({ outcome: 'invalid_response', code: 'too deep' }),
      }),
    )
  })

  test('does not hide another error', () => {
    asked = Object.freeze([]) as unknown as string[][] // pictureHandle throws a TypeError
    const href = `${UPSTREAM}/api/v1/users/00u1/factors/ost1/qr/20pictureTokenOfTheUpstream`
    expect(() => sanitized({ qrcode: { href } })).toThrow(TypeError)
  })

  const unusable = (code: unknown) =>
    expect.objectContaining({
      status: 502,
      code: 'E0000009',
      cause: expect.objectContaining({ outcome: 'invalid_response', code }),
    })
  const tokens = (count: number) =>
    Array.from({ length: count }, (_, n) => `token-of-the-upstream-${String(n).padStart(6, '0')}`)
  const MANY: Readonly<Record<string, (count: number) => Record<string, unknown>>> = {
    'in members': (count) => ({ names: tokens(count).map((stateToken) => ({ stateToken })) }),
    'in one member': (count) => ({ sessionToken: tokens(count) }),
    'in links': (count) => ({
      links: tokens(count).map((token) => ({ href: `${UPSTREAM}/login?token=${token}` })),
    }),
    'in one link': (count) => ({
      href: `${UPSTREAM}/login?${tokens(count)
        .map((token) => `token=${token}`)
        .join('&')}`,
    }),
    'in paths of pictures': (count) => ({
      links: tokens(count).map((token) => ({
        href: `${UPSTREAM}/api/v1/users/00u1/factors/ost1/qr/${token}`,
      })),
    }),
  }
  test.each(Object.keys(MANY))('with more than 100 tokens %s is 502', (where) => {
    const own = 2 // those of the transaction
    expect(JSON.parse(sanitized(MANY[where]?.(100 - own) ?? {}).text)).toEqual(expect.any(Object))
    const repeated = [MANY[where]?.(100 - own), MANY[where]?.(100 - own)]
    expect(sanitized({ repeated }).text).not.toContain('token-of-the-upstream')
    expect(() => sanitized(MANY[where]?.(101 - own) ?? {})).toThrow(unusable('too many tokens'))
    const tooMany = unusable(expect.stringMatching(/^too many (tokens|links)$/))
    expect(() => sanitized(MANY[where]?.(80_000) ?? {})).toThrow(tooMany)
  })

  const links = (count: number, tail = '') =>
    Array.from({ length: count }, (_, n) => ({ href: `https://other.example/x?a=${n}${tail}` }))
  test('with more than 4,000 links is 502', () => {
    expect(sanitized({ links: links(4000) }).text).toContain('a=3999')
    expect(() => sanitized({ links: links(4001) })).toThrow(unusable('too many links'))
  })

  test('with as many tokens and links as are allowed takes little time, in any spelling', () => {
    const before = process.cpuUsage()
    const { text } = sanitized({ stateToken: tokens(90), links: links(4000, '%20') })
    expect(text).toContain('a=3999%20')
    // a minute if each link makes its own patterns
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(10)
  })

  test('with tokens within tokens, thousands of levels deep, is 502', () => {
    const nested = (levels: number) => TOKEN.slice(0, 9).repeat(levels) + TOKEN.slice(9).repeat(levels)
    expect(sanitized({ text: nested(3) }).text).toBe('{"text":""}')
    expect(() => sanitized({ text: nested(3000) })).toThrow(unusable('too many tokens'))
  })

  test('with a token of more than 4,096 characters is 502', () => {
    expect(sanitized({ stateToken: 't'.repeat(4096), text: '%' }).text).toContain('"text":"%"')
    expect(() => sanitized({ stateToken: 't'.repeat(4097) })).toThrow(unusable('token too long'))
  })

  test('with a token that is a number is 502, because the rest is not JSON', () => {
    expect(() => sanitized({ stateToken: '1234567890123456', number: 1234567890123456 })).toThrow(
      expect.objectContaining({
        status: 502,
        cause: expect.objectContaining({ outcome: 'invalid_response', code: 'token outside a string' }),
      }),
    )
  })
})

test('an SSO token is in the answer instead of Okta’s session token', () => {
  const tokens = { before, handle: HANDLE, ssoToken: `00${'s'.repeat(43)}` }
  const answer = { status: 'SUCCESS', sessionToken: '20111sessionTokenOfTheUpstream' }
  const { text } = sanitizer().step({ body: answer, isError: false }, tokens, CLIENT)
  expect(JSON.parse(text)).toEqual({ status: 'SUCCESS', sessionToken: tokens.ssoToken })
  expect(sanitized(answer).text).toBe('{"status":"SUCCESS"}')
})

test('an answer has the relayState with which its recovery began, unless it is an error', () => {
  const textFor = (answer: Record<string, unknown>, relayState?: string, isError = false) =>
    sanitizer().step({ body: answer, isError }, { before: { ...before, relayState }, handle: HANDLE }, CLIENT)
      .text
  const success = { status: 'SUCCESS' }
  expect(textFor(success, '/reports')).toBe('{"status":"SUCCESS","relayState":"/reports"}')
  expect(textFor(success)).toBe('{"status":"SUCCESS"}')
  expect(textFor({ ...success, relayState: '/of-okta' })).toBe('{"status":"SUCCESS","relayState":"/of-okta"}')
  expect(textFor({ errorCauses: [] }, '/reports', true)).toBe('{"errorCauses":[]}')
})

describe('an offered resource', () => {
  const QR = '20pictureTokenOfTheUpstream'
  const resource = (content: unknown, path: string) =>
    sanitizer().resource(content, { path, stateTokens: [TOKEN, RETIRED], user: {} }, CLIENT)

  test('has links to PUBLIC_URL and no token of its transaction or of its path', async () => {
    const content = [
      { stateToken: TOKEN, href: `${UPSTREAM}/api/v1/authn?stateToken=${TOKEN}` },
      {
        link: { href: `https://elsewhere.example/${TOKEN}` },
        text: `x${TOKEN}${RETIRED}y ${OWN_SECRET} ${QR}`,
      },
      { qrcode: { href: `${UPSTREAM}/api/v1/users/00u1/factors/ost1/qr/${QR}` } },
    ]
    const wanted = [
      { href: `${PUBLIC}/api/v1/authn?stateToken=` },
      { link: { href: 'https://elsewhere.example/' }, text: 'xy  ' },
      { qrcode: { href: `${PUBLIC}/api/v1/users/00u1/factors/ost1/qr/` } },
    ]
    const path = `/api/v1/users/00u1/factors/ost1/qr/${QR}?a=b/qr/c`
    expect(resource(content, path)).toBe(JSON.stringify(wanted))
    expect(await removals()).toEqual([
      ['link', 1],
      ['body', 4],
    ])
  })

  test('has no token of its path in its texts, although no link has it', () => {
    const path = `/api/v1/users/00u1/factors/ost1/qr/${QR}`
    for (const query of ['', '?', '?size=2', '?a=b/qr/c'])
      expect(resource([{ text: `x${QR}y` }], path + query)).toBe('[{"text":"xy"}]')
  })

  test('without a token in its path is unchanged', () => {
    const content = [{ question: 'toy', questionText: 'Which toy?' }]
    expect(resource(content, '/api/v1/users/00u1/factors/questions')).toBe(JSON.stringify(content))
  })
})

test('unknown names in an answer are counted, but not those in an Error object', async () => {
  const answer = { status: 'LEVITATING', _links: { bend: { href: UPSTREAM } } }
  const counted = async () =>
    (await metrics.unknownSteps.get()).values.map(({ labels }) => [labels.kind, labels.name])
  sanitized(answer, [], true)
  expect(await counted()).toEqual([])
  sanitized(answer)
  expect(await counted()).toEqual([
    ['status', 'LEVITATING'],
    ['link', 'bend'],
  ])
})
