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
    ownSecrets: () => [OWN_SECRET],
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
  test('leaves an answer without tokens unchanged, and reports nothing', async () => {
    const answer = { status: 'SUCCESS', list: [1, null] }
    const { body, text } = sanitized(answer)
    expect(text).toBe('{"status":"SUCCESS","list":[1,null]}')
    expect(body).toEqual(answer)
    expect([await removals(), collected.lines()]).toEqual([[], []])
  })

  test('removes tokens and the broker’s own secrets, counts each, and raises an alarm without their values', async () => {
    const { body, text } = sanitized({ a: `x${TOKEN}y`, b: [OWN_SECRET, `${TOKEN}`] })
    expect(text).toBe('{"a":"xy","b":["",""]}')
    expect(body).toEqual({ a: 'xy', b: ['', ''] })
    expect(await removals()).toEqual([['body', 3]])
    expect(collected.lines()).toMatchObject([
      { level: 'error', event: 'token_leak_blocked', requestId: 'request-1', count: 3 },
    ])
    expect(collected.text()).not.toMatch(/UpstreamOf|00state|fake-own/)
  })
})

describe('an answer of a step', () => {
  test('has the handle, links to PUBLIC_URL, and the steps that Okta offered', async () => {
    const path = '/api/v1/authn/factors/ost1/verify'
    const { body, text, offered, allHidden } = sanitized({
      stateToken: TOKEN,
      _links: { next: { href: `${UPSTREAM}${path}`, hints: { allow: ['POST'] } } },
    })
    expect(body).toEqual({
      stateToken: HANDLE,
      _links: { next: { href: `${PUBLIC}${path}`, hints: { allow: ['POST'] } } },
    })
    expect(text).toBe(JSON.stringify(body))
    expect(offered).toEqual([{ path, query: '', methods: ['POST'] }])
    expect([allHidden, await removals()]).toEqual([false, []])
  })

  test('has no token of the transaction, also no replaced one; tokens in links are counted separately', async () => {
    const { body } = sanitized({
      a: `${TOKEN} ${RETIRED}`,
      link: { href: `https://elsewhere.example/${TOKEN}` },
    })
    expect(body).toEqual({ a: ' ', link: { href: 'https://elsewhere.example/' } })
    expect(await removals()).toEqual([
      ['link', 1],
      ['body', 2],
    ])
  })

  test('has a handle of this device in the path of a picture', () => {
    const path = '/api/v1/users/00u1/factors/ost1/qr/pictureTokenOfTheUpstream'
    const { body } = sanitized({ qrcode: { href: `${UPSTREAM}${path}`, type: 'image/png' } })
    const href = `${PUBLIC}/api/v1/users/00u1/factors/ost1/qr/picture-handle`
    expect(body).toEqual({ qrcode: { href, type: 'image/png' } })
    expect(asked).toEqual([[CLIENT.device.id, path]])
  })

  test('has no hidden factor and does not offer one, and reports if none is left', () => {
    const link = { href: `${UPSTREAM}/api/v1/authn/factors/ufs1/verify` }
    const answer = { _embedded: { factors: [{ factorType: 'question', _links: { verify: link } }] } }
    expect(sanitized(answer, ['question'])).toEqual({
      body: { _embedded: { factors: [] } },
      text: '{"_embedded":{"factors":[]}}',
      offered: [],
      allHidden: true,
    })
    expect(sanitized(answer).offered).toHaveLength(1)
  })

  test('that is nested too deeply, in objects or in tokens, is 502', () => {
    let deep: unknown = {}
    for (let depth = 0; depth < 20_000; depth++) deep = { deep }
    const nestedTokens = TOKEN.slice(0, 10).repeat(40) + TOKEN.slice(10).repeat(40)
    for (const answer of [{ deep }, { nestedTokens }])
      expect(() => sanitized(answer)).toThrow(
        expect.objectContaining({
          status: 502,
          code: 'E0000009',
          cause: expect.objectContaining({ outcome: 'invalid_response', code: 'too deep' }),
        }),
      )
  })

  test('with a token that is a number is 502, because the rest is not JSON', () => {
    expect(() => sanitized({ stateToken: '1234567890123456', number: 1234567890123456 })).toThrow(
      expect.objectContaining({
        status: 502,
        cause: expect.objectContaining({ outcome: 'invalid_response' }),
      }),
    )
  })

  test('throws any other error unchanged', () => {
    const error = new TypeError('another')
    const broken = createSanitizer({
      resources: {
        pictureHandle() {
          throw error
        },
      },
      upstreamOrigins: [UPSTREAM],
      publicOrigin: PUBLIC,
      ownSecrets: () => [],
      hiddenFactors: new Set(),
      log: collected.log,
      metrics,
    })
    const href = `${UPSTREAM}/api/v1/users/00u1/factors/ost1/qr/pictureTokenOfTheUpstream`
    const step = () => broken.step({ body: { href }, isError: false }, { before, handle: HANDLE }, CLIENT)
    expect(step).toThrow(error)
  })
})

describe('unknown names in an answer', () => {
  const answer = {
    status: 'LEVITATING',
    _embedded: { list: [{ _links: { bend: {} } }] },
    _links: { next: {} },
  }
  const counted = async () =>
    (await metrics.unknownSteps.get()).values.map(({ labels }) => [labels.kind, labels.name])

  test('are counted, at any depth', async () => {
    sanitized(answer)
    expect(await counted()).toEqual([
      ['status', 'LEVITATING'],
      ['link', 'bend'],
    ])
  })

  test('are not counted for an Error object', async () => {
    sanitized(answer, [], true)
    expect(await counted()).toEqual([])
  })
})
