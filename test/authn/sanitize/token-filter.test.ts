import { beforeEach, describe, expect, test } from '@jest/globals'
import { asNoAnswer, createGuard, walked } from '../../../src/authn/sanitize/guard.ts'
import { createToBrowser } from '../../../src/authn/sanitize/to-browser.ts'
import { walk } from '../../../src/authn/sanitize/walk.ts'
import { begin } from '../../../src/authn/transaction/transaction.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { CLIENT } from '../made-up-client.ts'

const TOKEN = '00stateTokenOfTheUpstream_abcdef'
const RETIRED = '00retiredTokenOfTheUpstream_abcd'
const OWN_SECRET = 'plainly-fake-own-secret'
const HANDLE = `00${'h'.repeat(43)}`
const UPSTREAM = 'https://org.example.com'
const PUBLIC = 'https://portal.example.net'

let metrics: ReturnType<typeof createMetrics>
let collected: ReturnType<typeof collectLog>
beforeEach(() => {
  metrics = createMetrics()
  collected = collectLog()
})

const guard = () => createGuard({ ownSecrets: () => [OWN_SECRET], log: collected.log, metrics })
const cuts = async () =>
  (await metrics.tokensCut.get()).values.map(({ labels, value }) => [labels.by, value] as const)

describe('the token filter', () => {
  test('passes an answer without tokens as it is, and says nothing', async () => {
    expect(guard()({ status: 'SUCCESS', list: [1, null] }, [TOKEN], CLIENT)).toBe(
      '{"status":"SUCCESS","list":[1,null]}',
    )
    expect([await cuts(), collected.lines()]).toEqual([[], []])
  })

  test('removes tokens and the broker’s own secrets, counts each and raises an alarm without them', async () => {
    const body = guard()({ a: `x${TOKEN}y`, b: [OWN_SECRET, `${TOKEN}`] }, [TOKEN], CLIENT)
    expect(body).toBe('{"a":"xy","b":["",""]}')
    expect(await cuts()).toEqual([['guard', 3]])
    expect(collected.lines()).toMatchObject([
      { level: 'error', event: 'token_cut_by_guard', requestId: 'request-1', count: 3 },
    ])
    expect(collected.text()).not.toMatch(/UpstreamOf|00state|fake-own/)
  })
})

describe('an answer that cannot be walked', () => {
  test('is 502', () => {
    const nested = () => {
      throw new RangeError('Maximum call stack size exceeded')
    }
    expect(() => walked(nested)).toThrow(
      expect.objectContaining({
        status: 502,
        code: 'E0000009',
        cause: expect.objectContaining({ kind: 'unusable', code: 'too deep' }),
      }),
    )
  })

  test('any other error stays what it is', () => {
    const error = new TypeError('another')
    expect(asNoAnswer(error)).toBe(error)
    expect(() =>
      walked(() => {
        throw error
      }),
    ).toThrow(error)
  })

  test('what can be walked gives its result', () => {
    expect(walked(() => 7)).toBe(7)
  })
})

describe('walking an answer', () => {
  const visited = (value: unknown, stopAt?: string) => {
    const names: string[] = []
    walk(value, (name, member) => {
      names.push(`${name}=${typeof member}`)
      return name !== stopAt
    })
    return names
  }

  test('visits each member of each object, at any depth', () => {
    expect(visited({ a: 1, b: { c: [{ d: 'x' }, 7, [{ e: null }]] } })).toEqual([
      'a=number',
      'b=object',
      'c=object',
      'd=string',
      'e=object',
    ])
  })

  test('leaves out what is below a member that its visit refused', () => {
    expect(visited({ a: { b: 1 }, c: { d: 2 } }, 'a')).toEqual(['a=object', 'c=object', 'd=number'])
  })

  test.each([[null], [undefined], ['text'], [7], [[]], [[1, 'x', null]]])('%j has no members', (value) => {
    expect(visited(value)).toEqual([])
  })
})

describe('an answer for the browser', () => {
  const before = { ...begin('device', 'ada', 0), stateToken: TOKEN, retiredTokens: [RETIRED] }
  const asked: string[][] = []
  const toBrowser = (answer: Record<string, unknown>, hidden: readonly string[] = []) =>
    createToBrowser({
      offers: {
        pictureHandle(device, path) {
          asked.push([device, path])
          return 'picture-handle'
        },
      },
      upstreamOrigins: [UPSTREAM],
      publicOrigin: PUBLIC,
      guard: guard(),
      hiddenFactors: new Set(hidden),
      metrics,
    })(answer, { before, handle: HANDLE }, CLIENT)

  test('has the handle, its links at our address, and offers what Okta offered', async () => {
    const path = '/api/v1/authn/factors/ost1/verify'
    const { body, offered, noneLeft } = toBrowser({
      stateToken: TOKEN,
      _links: { next: { href: `${UPSTREAM}${path}`, hints: { allow: ['POST'] } } },
    })
    expect(JSON.parse(body)).toEqual({
      stateToken: HANDLE,
      _links: { next: { href: `${PUBLIC}${path}`, hints: { allow: ['POST'] } } },
    })
    expect(offered).toEqual([{ path, query: '', methods: ['POST'] }])
    expect([noneLeft, await cuts()]).toEqual([false, []])
  })

  test('has no token of the transaction, replaced ones included; those in links are counted apart', async () => {
    const { body } = toBrowser({
      a: `${TOKEN} ${RETIRED}`,
      link: { href: `https://elsewhere.example/${TOKEN}` },
    })
    expect(JSON.parse(body)).toEqual({ a: ' ', link: { href: 'https://elsewhere.example/' } })
    expect(await cuts()).toEqual([
      ['guard', 2],
      ['link', 1],
    ])
  })

  test('has the path of a picture with a handle of this device', () => {
    const path = '/api/v1/users/00u1/factors/ost1/qr/pictureTokenOfTheUpstream'
    const { body } = toBrowser({ qrcode: { href: `${UPSTREAM}${path}`, type: 'image/png' } })
    expect(JSON.parse(body).qrcode.href).toBe(`${PUBLIC}/api/v1/users/00u1/factors/ost1/qr/picture-handle`)
    expect(asked).toEqual([[CLIENT.device.id, path]])
  })

  test('has no hidden factor and offers none, and says when none is left', () => {
    const link = { href: `${UPSTREAM}/api/v1/authn/factors/ufs1/verify` }
    const answer = { _embedded: { factors: [{ factorType: 'question', _links: { verify: link } }] } }
    expect(toBrowser(answer, ['question'])).toEqual({
      body: '{"_embedded":{"factors":[]}}',
      offered: [],
      noneLeft: true,
    })
    expect(toBrowser(answer).offered).toHaveLength(1)
  })

  test('nested too deep is 502', () => {
    let deep: unknown = {}
    for (let depth = 0; depth < 20_000; depth++) deep = { deep }
    expect(() => toBrowser({ deep })).toThrow(expect.objectContaining({ status: 502, code: 'E0000009' }))
  })
})
