import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Client } from '../../../src/authn/browser/client.ts'
import { createFetchOffered } from '../../../src/authn/fetch-offered.ts'
import { createSanitizer } from '../../../src/authn/sanitize/sanitize.ts'
import { createOfferedResources } from '../../../src/authn/transaction/offered-resources.ts'
import {
  createTransaction,
  type OfferedStep,
  type Transaction,
} from '../../../src/authn/transaction/transaction.ts'
import type { AuthnGet } from '../../../src/authn/upstream/authn-upstream.ts'
import { createSeal, createSigner } from '../../../src/crypto/keys.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createMemoryStore, type MemoryEntry } from '../../../src/store/memory-store.ts'
import type { UpstreamResponse } from '../../../src/upstream/http-api.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { CLIENT as RETURNED } from '../test-client.ts'

const UPSTREAM = 'https://org.example.com'
const PUBLIC = 'https://portal.example.net'
const DEVICE = 'd'.repeat(32)
const OTHER_DEVICE = 'e'.repeat(32)
const STATE_TOKEN = '00stateTokenOfTheUpstream_abcdef'
const QR_TOKEN = 'pictureTokenOfTheUpstream'
const QUESTIONS = '/api/v1/users/00u1/factors/questions'
const PICTURE = `/api/v1/users/00u1/factors/ost1/qr/${QR_TOKEN}`
const TTL_MS = 300_000
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const MAX_PICTURE_BYTES = 262_144

const offeredGet = (path: string): OfferedStep => ({ path, query: '', methods: ['GET'] })
const clientOf = (id: string, returned = true): Client => ({ ...RETURNED, device: { id, returned } })
const CLIENT = clientOf(DEVICE)

const HANDLE = 'handle'
const ALICE = { userId: '00u1', login: 'alice' }
const BEGUN: Transaction = { ...createTransaction(DEVICE, ALICE.login, 0), userId: ALICE.userId }

/**
 * Each transaction has two names, as while SECRET_KEYS are rotated, and is stored under the older
 * one.
 */
const transactions = {
  namesOf: (handle: string) => [`new ${handle}`, `former ${handle}`] as const,
  read: async (name: string) => open.get(name),
}
const isOpen = (handle: string, transaction = BEGUN) => open.set(`former ${handle}`, transaction)
const isClosed = (handle: string) => open.delete(`former ${handle}`)

let open: Map<string, Transaction>
let entries: Map<string, MemoryEntry>
let parts: ReturnType<typeof resourcesOn>

/** Offered resources with their own master keys, on the store of the test. */
function resourcesOn(...keys: readonly Buffer[]) {
  const store = createMemoryStore({ entries, monotonic: () => 0 })
  const seal = createSeal(keys, 'offer')
  const nameSigner = createSigner(keys, 'offer-names')
  const { log, lines } = collectLog()
  const metrics = createMetrics()
  const resources = createOfferedResources({ store, seal, nameSigner, transactions, log, metrics })
  return { resources, store, seal, metrics, log, lines }
}

const OLD_KEY = Buffer.alloc(32, 1)

beforeEach(() => {
  entries = new Map()
  open = new Map()
  isOpen(HANDLE)
  parts = resourcesOn(OLD_KEY)
})

const keep = (path: string, { handle = HANDLE, stateTokens = [STATE_TOKEN] } = {}) =>
  parts.resources.add(DEVICE, [offeredGet(path)], { handle, stateTokens, ttlMs: TTL_MS })
const publicPicture = () =>
  `/api/v1/users/00u1/factors/ost1/qr/${parts.resources.pictureHandle(DEVICE, PICTURE)}`

describe('an offered resource', () => {
  test('with security questions is found at Okta’s path, with the tokens that must be removed from it', async () => {
    await keep(QUESTIONS)
    expect(await parts.resources.find(DEVICE, QUESTIONS)).toMatchObject({
      path: QUESTIONS,
      stateTokens: [STATE_TOKEN],
    })
  })

  test('with a picture is found under a handle instead of Okta’s token, which is always the same', async () => {
    await keep(PICTURE)
    expect(publicPicture()).not.toContain(QR_TOKEN)
    expect(publicPicture()).toBe(publicPicture())
    expect(publicPicture()).not.toContain(parts.resources.pictureHandle(OTHER_DEVICE, PICTURE))
    expect(publicPicture()).toMatch(/\/qr\/[\w-]{43}$/)
    expect(await parts.resources.find(DEVICE, publicPicture())).toMatchObject({ path: PICTURE })
    expect(await parts.resources.find(DEVICE, PICTURE)).toBeUndefined()
  })

  test('is not found by another device', async () => {
    await keep(QUESTIONS)
    await keep(PICTURE)
    expect(await parts.resources.find(OTHER_DEVICE, QUESTIONS)).toBeUndefined()
    expect(await parts.resources.find(OTHER_DEVICE, publicPicture())).toBeUndefined()
    expect(parts.lines()).toEqual([])
  })

  test.each([
    '/api/v1/authn/skip',
    '/api/v1/users/00u1/factors',
    `${QUESTIONS}/more`,
    `/x${QUESTIONS}`,
    '/api/v1/users/00u1/x/factors/questions',
    '/api/v1/users//factors/questions',
    `/x${PICTURE}`,
  ])('is not stored for %s', async (path) => {
    await keep(path)
    expect([...entries]).toEqual([])
  })

  test('is stored sealed, under a name that reveals nothing, for as long as the transaction lasts', async () => {
    await keep(QUESTIONS)
    const [[name, entry] = ['', undefined], ...rest] = [...entries]
    expect(rest).toEqual([])
    expect(name).toMatch(/^gatehouse:offer:[\w-]{43}$/)
    expect(entry?.expiresAt).toBe(TTL_MS)
    expect(JSON.stringify(entry?.content)).not.toMatch(/questions|00state/)
  })
})

describe('a resource', () => {
  const found = () => parts.resources.find(DEVICE, QUESTIONS)

  test('is gone when the transaction has ended or is redirect-only', async () => {
    await keep(QUESTIONS)
    isOpen(HANDLE, { ...BEGUN, origin: 'redirect-only' })
    expect(await found()).toBeUndefined()
    isClosed(HANDLE)
    expect(await found()).toBeUndefined()
    expect(parts.lines()).toEqual([])
  })

  test.each([
    ['the first', ['one', 'two']],
    ['the second', ['two', 'one']],
  ])(
    'of two tabs remains when the transaction of %s tab ends, and is gone when both have ended',
    async (_name, [ended = '', other = '']) => {
      for (const handle of ['one', 'two', 'one']) {
        isOpen(handle)
        await keep(QUESTIONS, { handle })
      }
      isClosed(ended)
      expect((await found())?.user).toEqual(ALICE)
      isClosed(other)
      expect(await found()).toBeUndefined()
    },
  )

  test('has a limited number of transactions, the newest ones', async () => {
    for (let n = 0; n < 200; n++) await keep(QUESTIONS, { handle: `ended ${n}` })
    const [entry] = entries.values()
    expect(String(entry?.content).length).toBeLessThan(1000)
    expect(await found()).toBeUndefined()
    await keep(QUESTIONS)
    expect((await found())?.user).toEqual(ALICE)
  })
})

describe('a stored resource of another version', () => {
  const placeOf = async () => {
    await keep(QUESTIONS)
    const [place = ''] = [...entries.keys()]
    return place
  }
  const write = async (text: string) => {
    const place = await placeOf()
    await parts.store.set(place, parts.seal.seal(text, place), TTL_MS)
  }

  test.each([JSON.stringify({ version: 2, path: QUESTIONS }), JSON.stringify({ version: 1 }), 'no JSON'])(
    'that cannot be read is ignored, counted and logged: %s',
    async (text) => {
      await write(text)
      expect(await parts.resources.find(DEVICE, QUESTIONS)).toBeUndefined()
      expect(await parts.metrics.unreadableRecords.get()).toMatchObject({
        values: [{ value: 1, labels: { kind: 'offer' } }],
      })
      expect(parts.lines()).toMatchObject([{ level: 'warn', event: 'unreadable_record', name: 'offer' }])
    },
  )

  test('that cannot be read is replaced by an offer', async () => {
    await write('no JSON')
    await keep(QUESTIONS)
    expect(await parts.resources.find(DEVICE, QUESTIONS)).toBeDefined()
  })
})

describe('a GET of an offered resource', () => {
  let spent: unknown[]
  let sent: AuthnGet[]
  let answer: Partial<UpstreamResponse>
  let failure: Error | undefined
  const secrets = { own: ['our-own-secret-token'] }

  const gets = () =>
    createFetchOffered({
      upstream: {
        async fetch(call) {
          sent.push(call)
          if (failure !== undefined) throw failure
          return { status: 200, headers: {}, json: undefined, bytes: Buffer.alloc(0), ...answer }
        },
      },
      resources: parts.resources,
      throttling: {
        reserve(reserved) {
          spent.push(reserved)
          return {
            enforce: async (attempt) => void spent.push(attempt),
            refund: () => {},
            consumeOrRefund: ({ outcome }) => void spent.push(outcome.status),
            consumeOrRefundOnError: (error) => void spent.push(error),
          }
        },
      },
      sanitizer: createSanitizer({
        resources: parts.resources,
        upstreamOrigins: [UPSTREAM],
        publicOrigin: PUBLIC,
        ownSecrets: secrets.own,
        hiddenFactors: new Set(),
        log: parts.log,
        metrics: parts.metrics,
      }),
    })
  const removedFrom = async (place: string) =>
    (await parts.metrics.tokenLeaksBlocked.get()).values.find(({ labels }) => labels.found_in === place)
      ?.value

  beforeEach(async () => {
    sent = []
    spent = []
    answer = {}
    failure = undefined
    await keep(QUESTIONS)
    await keep(PICTURE)
  })

  test.each([
    ['another browser', clientOf(OTHER_DEVICE)],
    ['a browser that sent no device cookie', clientOf(DEVICE, false)],
  ])('by %s is refused, and nothing is sent', async (_name, client) => {
    const refusal = { status: 403, code: 'E0000079' }
    await expect(gets().questions(QUESTIONS, client)).rejects.toMatchObject(refusal)
    await expect(gets().picture(publicPicture(), client)).rejects.toMatchObject(refusal)
    expect(sent).toEqual([])
  })

  test('is throttled as a call of the user, with the status of the answer', async () => {
    answer = { json: [] }
    await gets().questions(QUESTIONS, CLIENT)
    answer = { status: 400, json: { errorCode: 'E0000007' } }
    await gets().picture(publicPicture(), CLIENT)
    failure = new Error('the org is down')
    await expect(gets().questions(QUESTIONS, CLIENT)).rejects.toBe(failure)
    const callOf = (operation: string) => [
      { kind: 'call', operation },
      { kind: 'call', operation, ...ALICE },
    ]
    const calls = [...callOf('questions'), 200, ...callOf('picture'), 400]
    expect(spent).toEqual([...calls, ...callOf('questions'), failure])
  })

  describe('the questions', () => {
    const LIST = [{ question: 'toy', questionText: 'What is your favourite toy?' }]
    const ask = () => gets().questions(QUESTIONS, CLIENT)

    test('are passed unchanged', async () => {
      answer = { json: LIST }
      expect(await ask()).toEqual({
        kind: 'answer',
        status: 200,
        body: JSON.stringify(LIST),
        headers: {},
        errorCode: undefined,
        sessionId: undefined,
      })
      expect(sent).toEqual([
        { path: QUESTIONS, accept: 'application/json', carriesApiToken: false, client: CLIENT },
      ])
      expect(await removedFrom('link')).toBeUndefined()
    })

    test('are an error of the API with its rate limit, if Okta answers so', async () => {
      answer = {
        status: 429,
        json: { errorCode: 'E0000047', errorSummary: STATE_TOKEN, errorId: 'oae1' },
        headers: { 'x-rate-limit-limit': '600' },
      }
      expect(await ask()).toEqual({
        kind: 'answer',
        status: 429,
        body: JSON.stringify({ errorCode: 'E0000047', errorSummary: '', errorId: 'oae1' }),
        headers: { 'X-Rate-Limit-Limit': '600', 'Retry-After': '60' },
        errorCode: 'E0000047',
        sessionId: undefined,
      })
    })

    test.each<[string, Partial<UpstreamResponse>]>([
      ['an object', { json: { questions: [] } }],
      ['a list with another status', { status: 201, json: LIST }],
      ['a list of an error', { status: 404, json: LIST }],
      ['a page', { json: undefined }],
    ])('are 502 if Okta answers with %s', async (_name, given) => {
      answer = given
      await expect(ask()).rejects.toMatchObject({ status: 502, code: 'E0000009' })
    })
  })

  describe('a picture', () => {
    const ask = () => gets().picture(publicPicture(), CLIENT)

    test.each([
      ['image/png', 'image/png'],
      ['IMAGE/JPEG; charset=x', 'image/jpeg'],
      ['image/gif ', 'image/gif'],
      ['image/webp', 'image/webp'],
    ])('with the type %j is sent as %j', async (given, type) => {
      answer = { headers: { 'content-type': given }, bytes: PNG }
      expect(await ask()).toEqual({ kind: 'picture', type, bytes: PNG })
      expect(sent).toEqual([{ path: PICTURE, accept: 'image/*', carriesApiToken: false, client: CLIENT }])
    })

    test.each<[string, Partial<UpstreamResponse>]>([
      ['a drawing that can contain scripts', { headers: { 'content-type': 'image/svg+xml' } }],
      ['a page', { headers: { 'content-type': 'text/html' } }],
      ['a type with the same end', { headers: { 'content-type': 'x-image/png' } }],
      ['a type with the same beginning', { headers: { 'content-type': 'image/pngx' } }],
      ['a list of types', { headers: { 'content-type': 'text/html; image/png' } }],
      ['no type', {}],
      ['another status', { status: 206, headers: { 'content-type': 'image/png' } }],
      [
        'more bytes than allowed',
        { headers: { 'content-type': 'image/png' }, bytes: Buffer.alloc(MAX_PICTURE_BYTES + 1) },
      ],
      ['an error page', { status: 400, headers: { 'content-type': 'image/png' }, json: undefined }],
    ])('is 502 if Okta answers with %s', async (_name, given) => {
      answer = { bytes: PNG, ...given }
      await expect(ask()).rejects.toMatchObject({ status: 502, code: 'E0000009' })
    })

    test.each([400, 404])(
      'is an error %d of the API without the picture’s token, if Okta answers so',
      async (status) => {
        const link = { href: UPSTREAM + PICTURE }
        answer = {
          status,
          json: {
            errorCode: 'E0000007',
            errorSummary: `no ${QR_TOKEN} of ${STATE_TOKEN}`,
            errorId: 'oae1',
            link,
          },
        }
        expect(await ask()).toMatchObject({
          kind: 'answer',
          status,
          errorCode: 'E0000007',
          body: JSON.stringify({
            errorCode: 'E0000007',
            errorSummary: 'no  of ',
            errorId: 'oae1',
            link: { href: `${PUBLIC}/api/v1/users/00u1/factors/ost1/qr/` },
          }),
        })
      },
    )
  })
})
