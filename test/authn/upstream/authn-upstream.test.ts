import type { IncomingHttpHeaders } from 'node:http'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { Client, DeviceTokens } from '../../../src/authn/browser/client.ts'
import { type AuthnCall, createAuthnUpstream } from '../../../src/authn/upstream/authn-upstream.ts'
import { createSigner } from '../../../src/crypto/keys.ts'
import { BrokerError } from '../../../src/errors.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { createMemoryStore } from '../../../src/store/memory-store.ts'
import { keeper } from '../../http/serve.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { deferred } from '../../support/deferred.ts'
import { deadPort, type StubListener, sendJson, startStubUpstream } from '../../support/stub-upstream.ts'
import { until } from '../../support/until.ts'
import { clientFor } from '../../upstream/client-for.ts'
import { CLIENT as RETURNED } from '../test-client.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const CLIENT: Client = { ...RETURNED, userAgent: 'Browser/1.0', acceptLanguage: 'de-CH' }
const STATELESS: AuthnCall = { path: '/api/v1/authn', body: { username: 'ada' }, bearsToken: false }
const STATEFUL: AuthnCall = { path: '/api/v1/authn/skip', body: { stateToken: '00x' }, bearsToken: true }
const SUCCESS = { status: 'SUCCESS' }
const INVALID_TOKEN = { errorCode: 'E0000011', errorSummary: 'Invalid token provided', errorId: 'oae1' }

interface Parts {
  readonly origin: string
  readonly tokens?: readonly string[]
  readonly totalTimeoutMs?: number
  readonly halfOpenAfterMs?: number
  readonly deviceToken?: DeviceTokens['of']
}

function upstreamAt({
  origin,
  tokens = ['first-token'],
  totalTimeoutMs = 60_000,
  halfOpenAfterMs = 60_000,
  deviceToken = async ({ id }) => id,
}: Parts) {
  const keyring = { tokens }
  const clock = { ms: 0 }
  const { log, lines, text } = collectLog('debug')
  const metrics = createMetrics({ processMetrics: false })
  const client = clientFor(origin, {
    totalTimeoutMs,
    breaker: { consecutiveFailures: 3, halfOpenAfterMs },
  })
  const upstream = keep(
    createAuthnUpstream({
      timeoutMs: totalTimeoutMs,
      client,
      baseUrl: origin,
      rateLimit: { reserveShare: 0, maxWaitMs: 0, jitterMs: 0, maxClosedMs: 60_000, refreshEveryMs: 0 },
      store: keep(createMemoryStore({ monotonic: () => 0 })),
      deviceTokens: { of: deviceToken },
      names: createSigner(() => [Buffer.alloc(32)], 'limit-names'),
      apiTokens: () => keyring.tokens,
      log,
      metrics,
      now: Date.now,
      monotonic: () => performance.now() + clock.ms,
    }),
  )
  const failureOf = async (call: AuthnCall): Promise<BrokerError> => {
    const error = await upstream.send(call, CLIENT).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(BrokerError)
    return error as BrokerError // just checked
  }
  const gauge = async () => (await metrics.upstreamTokenRefused.get()).values[0]?.value
  const standby = async () => (await metrics.upstreamTokenStandby.get()).values[0]?.value
  return { upstream, failureOf, keyring, clock, lines, text, gauge, standby }
}

async function answering(listener: StubListener, parts: Partial<Parts> = {}) {
  const stub = keep(await startStubUpstream(listener))
  return { stub, ...upstreamAt({ origin: stub.origin, ...parts }) }
}

describe('the device token', () => {
  const answered = async (call: AuthnCall, deviceToken: DeviceTokens['of']) => {
    const { stub, upstream } = await answering((_req, res) => sendJson(res, 200, SUCCESS), { deviceToken })
    const status = await upstream.send(call, CLIENT).then(
      (reply) => reply.status,
      (error: Error) => error.message,
    )
    return { status, bodies: stub.requests.map(({ body }) => body) }
  }

  test('is unknown: nothing is sent', async () => {
    const unreachable: DeviceTokens['of'] = async () => {
      throw new Error('unreachable')
    }
    expect(await answered(STATELESS, unreachable)).toEqual({ status: 'unreachable', bodies: [] })
  })

  test('is sent with primary authentication, and with no other step', async () => {
    const replaced: DeviceTokens['of'] = async () => 'f'.repeat(32)
    const { bodies } = await answered(STATELESS, replaced)
    expect(bodies).toEqual([{ username: 'ada', context: { deviceToken: 'f'.repeat(32) } }])
    expect((await answered(STATEFUL, replaced)).bodies).toEqual([{ stateToken: '00x' }])
  })
})

describe('a response that does not have the API’s form', () => {
  test.each<[string, StubListener]>([
    [
      'HTML',
      (_req, res) => res.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>very-secret</html>'),
    ],
    [
      'an HTML error',
      (_req, res) => res.writeHead(503, { 'Content-Type': 'text/html' }).end('<h1>Busy</h1>'),
    ],
    ['a redirect', (_req, res) => sendJson(res, 302, SUCCESS, { Location: 'https://evil.example/' })],
    ['a list', (_req, res) => sendJson(res, 200, [SUCCESS])],
    ['null', (_req, res) => sendJson(res, 200, null)],
    ['text', (_req, res) => sendJson(res, 200, 'SUCCESS')],
    ['an empty body', (_req, res) => res.writeHead(200, { 'Content-Type': 'application/json' }).end()],
    ['no content', (_req, res) => res.writeHead(204).end()],
    ['an error without errorCode', (_req, res) => sendJson(res, 400, { message: 'very-secret' })],
    ['an error whose code is not a string', (_req, res) => sendJson(res, 403, { errorCode: 68 })],
    ['a 500 without errorCode', (_req, res) => sendJson(res, 500, {})],
    ['not modified', (_req, res) => res.writeHead(304).end()],
    ['a cut connection', (_req, res) => res.destroy()],
    ['a response over the size limit', (_req, res) => sendJson(res, 200, { status: 'x'.repeat(200_000) })],
  ])('%s is 502, is sent once, and reveals nothing', async (_name, listener) => {
    const { failureOf, stub } = await answering(listener)
    const failure = await failureOf(STATELESS)
    expect([failure.status, failure.code]).toEqual([502, 'E0000009'])
    expect(`${failure.message}${failure.causes}`).not.toMatch(/secret|127\.0\.0\.1/)
    expect(stub.requests.length).toBe(1)
  })

  test('an error with a code of another form passes, and its code is no label and no log field', async () => {
    const body = { errorCode: 'very-secret', errorSummary: 'Something else', errorId: 'oae1' }
    const { upstream } = await answering((_req, res) => sendJson(res, 400, body))
    const reply = await upstream.send(STATELESS, CLIENT)
    expect(reply).toMatchObject({ status: 400, isError: true, body })
    expect(reply.errorCode).toBeUndefined()
  })

  test('no answer in time is 504', async () => {
    const { failureOf } = await answering(() => undefined, { totalTimeoutMs: 300 })
    expect(await failureOf(STATELESS)).toMatchObject({ status: 504, code: 'E0000009' })
  })

  test('a refused connection is 502, and 503 with Retry-After while the breaker is open', async () => {
    const origin = `http://127.0.0.1:${await deadPort()}`
    const { failureOf } = upstreamAt({ origin, halfOpenAfterMs: 59_500 })
    for (let call = 0; call < 3; call++) expect((await failureOf(STATELESS)).status).toBe(502)
    const failure = await failureOf(STATELESS)
    expect([failure.status, failure.headers]).toEqual([503, { 'Retry-After': '60' }])
  })

  test('a response that is not HTTP is 502', async () => {
    const stub = keep(await startStubUpstream(({ socket }) => socket.end('nonsense')))
    expect((await upstreamAt({ origin: stub.origin }).failureOf(STATELESS)).status).toBe(502)
  })
})

describe('errors of the API pass unchanged', () => {
  test.each([400, 401, 403, 404, 429, 500, 503])('status %i', async (status) => {
    const body = {
      errorCode: 'E0000068',
      errorSummary: 's',
      errorLink: 'E0000068',
      errorId: 'oae1',
      errorCauses: [],
    }
    const { upstream } = await answering((_req, res) => sendJson(res, status, body))
    const reply = await upstream.send(STATELESS, CLIENT)
    expect(reply).toMatchObject({ status, isError: true, errorCode: 'E0000068', body })
  })
})

describe('while Okta refuses the API token', () => {
  /** Accepts the valid API tokens. Every state token is unknown. */
  async function org(valid: Set<string>, tokens: readonly string[] = ['first-token']) {
    const used: string[] = []
    let next: { status: number; body: object } | undefined
    const answerNext = (status: number, body: object) => {
      next = { status, body }
    }
    const made = await answering(
      (req, res) => {
        const token = req.headers.authorization?.replace('SSWS ', '') ?? ''
        used.push(token)
        const canned = next
        next = undefined
        if (canned !== undefined) sendJson(res, canned.status, canned.body)
        else if (!valid.has(token) || req.url.includes('gone')) sendJson(res, 401, INVALID_TOKEN)
        else sendJson(res, 200, SUCCESS)
      },
      { tokens },
    )
    return { ...made, used, answerNext }
  }
  const GONE: AuthnCall = { ...STATEFUL, path: '/api/v1/authn/gone' }

  test('a call without a state token is 503, with one alarm, the gauge, and no token in the log', async () => {
    const { failureOf, upstream, lines, text, gauge, used } = await org(new Set())
    for (let call = 0; call < 3; call++) {
      expect(await failureOf(STATELESS)).toMatchObject({ status: 503, headers: { 'Retry-After': '30' } })
    }
    expect(used.length).toBe(3)
    expect(upstream.tokenState()).toBe('failing')
    expect(await gauge()).toBe(1)
    expect(lines().map(({ level, event }) => [level, event])).toEqual([['error', 'upstream_token_refused']])
    expect(text()).not.toContain('first-token')
  })

  test('E0000011 on a call with a state token is about that token, and passes', async () => {
    const { upstream, lines } = await org(new Set(['first-token']))
    await upstream.send(STATELESS, CLIENT)
    expect(await upstream.send(GONE, CLIENT)).toMatchObject({ status: 401, errorCode: 'E0000011' })
    expect(upstream.tokenState()).not.toBe('failing')
    expect(lines()).toEqual([])
  })

  test('E0000011 on other calls is 503 too, so clients keep their transactions', async () => {
    const { failureOf } = await org(new Set())
    await failureOf(STATELESS)
    expect((await failureOf(STATEFUL)).status).toBe(503)
    expect((await failureOf(GONE)).status).toBe(503)
  })

  test('the standby is tried, and kept once it was accepted', async () => {
    const { upstream, used, gauge } = await org(new Set(['standby']), ['first-token', 'standby'])
    expect((await upstream.send(STATELESS, CLIENT)).body).toEqual(SUCCESS)
    await upstream.send(STATELESS, CLIENT)
    await upstream.send(STATEFUL, CLIENT)
    expect(used).toEqual(['first-token', 'standby', 'standby', 'standby'])
    expect([upstream.tokenState(), await gauge()]).toEqual(['ok', 0])
  })

  test('the standby is tried with a state token too', async () => {
    const { upstream, used } = await org(new Set(['standby']), ['first-token', 'standby'])
    expect((await upstream.send(STATEFUL, CLIENT)).status).toBe(200)
    expect((await upstream.send(STATEFUL, CLIENT)).status).toBe(200)
    expect(used).toEqual(['first-token', 'standby', 'standby'])
  })

  test('a rate limit or a failure does not show that the token is accepted again', async () => {
    const valid = new Set<string>()
    const { failureOf, upstream, answerNext } = await org(valid)
    await failureOf(STATELESS)
    for (const status of [500, 400, 429]) {
      answerNext(status, { errorCode: 'E0000047', errorSummary: 'later', errorId: 'oae1' })
      await upstream.send(STATELESS, CLIENT)
      expect(upstream.tokenState()).toBe('failing')
    }
    expect((await failureOf(GONE)).status).toBe(503)
  })

  test('before any call was answered, a refused state token is followed by a check of the API token', async () => {
    const ours = await org(new Set(), ['first-token'])
    expect((await ours.failureOf(GONE)).status).toBe(503)
    expect(ours.upstream.tokenState()).toBe('failing')
    const theirs = await org(new Set(['first-token']))
    expect((await theirs.upstream.send(GONE, CLIENT)).status).toBe(401)
    expect(theirs.upstream.tokenState()).not.toBe('failing')
  })

  describe('the random state token of a decoy', () => {
    const DECOY: AuthnCall = { ...GONE, isDecoy: true }

    test('is refused, whatever the check of the API token gives', async () => {
      for (const status of [429, 500]) {
        const listener: StubListener = (req, res) =>
          req.url === '/api/v1/authn'
            ? sendJson(res, status, { errorCode: 'E0000047', errorSummary: 'x', errorId: 'oae1' })
            : sendJson(res, 401, INVALID_TOKEN)
        const { upstream, stub } = await answering(listener)
        expect(await upstream.send(DECOY, CLIENT)).toMatchObject({ status: 401, errorCode: 'E0000011' })
        expect(stub.requests.map(({ url }) => url)).toEqual([DECOY.path, '/api/v1/authn'])
      }
    })

    test('is 503 while the API token is refused, as for a real one', async () => {
      const { failureOf, upstream } = await org(new Set())
      expect((await failureOf(DECOY)).status).toBe(503)
      expect(upstream.tokenState()).toBe('failing')
    })
  })

  test('both tokens are tried once, then the answer is 503', async () => {
    const { failureOf, used } = await org(new Set(), ['first-token', 'standby'])
    expect((await failureOf(STATELESS)).status).toBe(503)
    expect(used).toEqual(['first-token', 'standby'])
  })

  test('a token that is accepted again ends the alarm, and is logged', async () => {
    const valid = new Set<string>()
    const { failureOf, upstream, lines, gauge } = await org(valid)
    await failureOf(STATELESS)
    valid.add('first-token')
    expect((await upstream.send(STATELESS, CLIENT)).status).toBe(200)
    expect(upstream.tokenState()).not.toBe('failing')
    expect(await gauge()).toBe(0)
    expect((await upstream.send(GONE, CLIENT)).status).toBe(401)
    expect(lines().map(({ event }) => event)).toEqual([
      'upstream_token_refused',
      'upstream_token_accepted_again',
    ])
  })

  test('a new token in a changed file is used at once', async () => {
    const { failureOf, upstream, keyring, used } = await org(new Set(['new-token']))
    await failureOf(STATELESS)
    keyring.tokens = ['new-token']
    expect((await upstream.send(STATELESS, CLIENT)).status).toBe(200)
    expect(used.at(-1)).toBe('new-token')
  })

  describe('of two tokens', () => {
    const PAIR = ['first-token', 'standby'] as const
    const eventsOf = (lines: Record<string, unknown>[]) => lines.map(({ event, name }) => [event, name])

    test('a standby in use is logged once and shown by a gauge, until the first token is accepted again', async () => {
      const valid = new Set(['standby'])
      const { upstream, used, standby, lines, clock } = await org(valid, PAIR)
      for (let call = 0; call < 3; call++) await upstream.send(STATELESS, CLIENT)
      expect(await standby()).toBe(1)
      expect(eventsOf(lines())).toEqual([['upstream_token_switched', 'standby']])
      expect(lines()[0]).toMatchObject({ level: 'warn' })

      valid.add('first-token')
      clock.ms += 10 * 60_000
      await upstream.send(STATELESS, CLIENT)
      expect([used.at(-1), await standby()]).toEqual(['first-token', 0])
      expect(eventsOf(lines()).at(-1)).toEqual(['upstream_token_switched', 'first'])
    })

    test('a refused first token costs a second call only once in ten minutes', async () => {
      const { upstream, used, clock, lines } = await org(new Set(['standby']), PAIR)
      for (let call = 0; call < 4; call++) {
        await upstream.send(STATELESS, CLIENT)
        clock.ms += 4 * 60_000
      }
      expect(used).toEqual(['first-token', 'standby', 'standby', 'standby', 'first-token', 'standby'])
      expect(lines().length).toBe(1)
    })

    test('a changed list is tried from its first token on, although the old token is still accepted', async () => {
      const { upstream, used, keyring, standby, lines } = await org(new Set(['old', 'new']), ['old'])
      await upstream.send(STATELESS, CLIENT)
      keyring.tokens = ['new', 'old']
      await upstream.send(STATELESS, CLIENT)
      expect(used).toEqual(['old', 'new'])
      expect(await standby()).toBe(0)
      expect(lines()).toMatchObject([{ level: 'info', event: 'upstream_token_verified' }])
    })

    test('a mistyped new token is reported while the old one still works', async () => {
      const { upstream, used, keyring, standby, gauge, lines, text } = await org(new Set(['old']), ['old'])
      await upstream.send(STATELESS, CLIENT)
      keyring.tokens = ['mistyped', 'old']
      expect((await upstream.send(STATELESS, CLIENT)).body).toEqual(SUCCESS)
      await upstream.send(STATELESS, CLIENT)
      expect(used).toEqual(['old', 'mistyped', 'old', 'old'])
      expect([await standby(), await gauge()]).toEqual([1, 0])
      expect(eventsOf(lines())).toEqual([['upstream_token_switched', 'standby']])
      expect(text()).not.toMatch(/mistyped|"old"/)
    })

    test('a standby is tested by putting it first', async () => {
      const { upstream, used, keyring, lines } = await org(new Set(PAIR), PAIR)
      await upstream.send(STATELESS, CLIENT)
      keyring.tokens = [...PAIR].reverse()
      await upstream.send(STATELESS, CLIENT)
      expect(used).toEqual(['first-token', 'standby'])
      expect(eventsOf(lines())).toEqual([['upstream_token_verified', 'first']])
    })

    test('an answer to a call from before the list changed does not affect the new list', async () => {
      const used: string[] = []
      const { promise, resolve } = deferred()
      const listener: StubListener = async (req, res) => {
        const token = req.headers.authorization?.replace('SSWS ', '') ?? ''
        used.push(token)
        if (token === 'first') return sendJson(res, 401, INVALID_TOKEN)
        await promise
        sendJson(res, 200, SUCCESS)
      }
      const { upstream, keyring, lines, standby } = await answering(listener, { tokens: ['first', 'old'] })
      const before = upstream.send(STATELESS, CLIENT)
      await until(() => used.length === 2)
      keyring.tokens = ['new', 'old']
      resolve()
      await before
      expect([upstream.tokenState(), lines(), await standby()]).toEqual(['unknown', [], 0])
      await upstream.send(STATELESS, CLIENT)
      expect(used).toEqual(['first', 'old', 'new'])
    })

    test('if all are refused, no standby is in use', async () => {
      const valid = new Set(['standby'])
      const { upstream, failureOf, standby, gauge } = await org(valid, PAIR)
      await upstream.send(STATELESS, CLIENT)
      valid.clear()
      await failureOf(STATELESS)
      expect([await standby(), await gauge()]).toEqual([0, 1])
    })
  })

  test('another 401 is not a refusal of the API token', async () => {
    const { upstream, lines } = await answering((_req, res) => sendJson(res, 401, { errorCode: 'E0000004' }))
    expect(await upstream.send(STATELESS, CLIENT)).toMatchObject({ status: 401, errorCode: 'E0000004' })
    expect(upstream.tokenState()).not.toBe('failing')
    expect(lines()).toEqual([])
  })
})

describe('a request to Okta', () => {
  async function seenWith(client: Partial<Client>): Promise<IncomingHttpHeaders> {
    let seen: IncomingHttpHeaders = {}
    const { upstream } = await answering((req, res) => {
      seen = req.headers
      sendJson(res, 200, SUCCESS)
    })
    await upstream.send(STATELESS, { ...CLIENT, ...client })
    return seen
  }

  test('has our token, the client’s address, the browser’s headers, and nothing else', async () => {
    const headers = await seenWith({ fingerprint: 'print|1' })
    expect(headers).toMatchObject({
      accept: 'application/json',
      'content-type': 'application/json',
      authorization: 'SSWS first-token',
      'x-forwarded-for': '198.51.100.7',
      'user-agent': 'Browser/1.0',
      'accept-language': 'de-CH',
      'x-device-fingerprint': 'print|1',
    })
    expect(Object.keys(headers).sort()).toEqual(
      [
        ...['accept', 'accept-encoding', 'accept-language', 'authorization', 'connection', 'content-length'],
        ...['content-type', 'host', 'user-agent', 'x-device-fingerprint', 'x-forwarded-for'],
      ].sort(),
    )
  })

  test.each([
    ['POST', '/api/v1/authn', 'https://portal.example.com'],
    ['POST', '/api/v1/authn/factors/opf1/verify', 'https://portal.example.com'],
    ['POST', '/api/v1/users/00u1/factors/opf1/lifecycle/activate/sms', undefined],
    ['GET', '/api/v1/users/00u1/factors/opf1/qr/x', undefined],
  ])('has the page’s origin only under /api/v1/authn: %s %s', async (method, path, origin) => {
    const seen: (string | undefined)[] = []
    const { upstream } = await answering((req, res) => {
      seen.push(req.headers.origin)
      sendJson(res, 200, SUCCESS)
    })
    const client = { ...CLIENT, origin: 'https://portal.example.com' }
    if (method === 'GET') await upstream.fetch(path, 'image/png', client)
    else await upstream.send({ ...STATELESS, path }, client)
    expect(seen).toEqual([origin])
  })

  test('has no header that the browser did not send', async () => {
    const headers = await seenWith({ userAgent: '', acceptLanguage: '', fingerprint: undefined })
    for (const name of ['user-agent', 'accept-language', 'x-device-fingerprint', 'cookie', 'origin']) {
      expect(headers).not.toHaveProperty(name)
    }
  })
})

test('a user name, token or address cannot be chosen so that it counts as another party at the rate-limit gate', async () => {
  const limited = { errorCode: 'E0000047', errorSummary: 'x', errorId: 'oae1' }
  const { upstream, failureOf, stub } = await answering((req, res) =>
    req.url === STATEFUL.path
      ? sendJson(res, 429, limited, { 'X-Rate-Limit-Reset': String(Math.ceil(Date.now() / 1000) + 60) })
      : sendJson(res, 200, SUCCESS),
  )
  expect((await upstream.send(STATEFUL, CLIENT)).status).toBe(429)
  const logins = ['00x', STATEFUL.path, CLIENT.address, '["stateToken","00x"]']
  for (const name of logins)
    for (const body of [{ username: name }, { token: name }, { recoveryToken: name }])
      expect((await upstream.send({ ...STATELESS, body }, CLIENT)).status).toBe(200)
  const sent = stub.requests.length
  expect(await failureOf(STATEFUL)).toMatchObject({ status: 429, code: 'E0000047' })
  expect(stub.requests.length).toBe(sent)
})

describe('headers for the browser', () => {
  async function headersOf(status: number, headers: Record<string, string | string[]>) {
    const { upstream } = await answering((_req, res) =>
      sendJson(res, status, status === 200 ? SUCCESS : { errorCode: 'E0000047' }, headers),
    )
    return (await upstream.send(STATELESS, CLIENT)).headers
  }

  test('are the rate limits; no cookie, server, address or policy', async () => {
    expect(
      await headersOf(200, {
        'X-Rate-Limit-Limit': '600',
        'X-Rate-Limit-Remaining': '599',
        'X-Rate-Limit-Reset': '1800000000',
        'Set-Cookie': ['sid=very-secret', 'JSESSIONID=very-secret'],
        Server: 'org',
        'X-Okta-Request-Id': 'abc',
        'Content-Security-Policy': 'x',
        Link: '<https://org.example.com/>; rel="self"',
      }),
    ).toEqual({
      'X-Rate-Limit-Limit': '600',
      'X-Rate-Limit-Remaining': '599',
      'X-Rate-Limit-Reset': '1800000000',
    })
  })

  test.each(['', '-1', '1.5', 'many', '1e9', '9'.repeat(16), '1, 2'])(
    'a limit of %j is dropped',
    async (value) => {
      expect(await headersOf(200, { 'X-Rate-Limit-Limit': value })).toEqual({})
    },
  )

  const DATE = 'Thu, 05 Nov 2026 06:00:00 GMT'
  const SENT_S = Date.parse(DATE) / 1000
  test.each<[string, Record<string, string>, string]>([
    ['until the reset, by Okta’s clock', { Date: DATE, 'X-Rate-Limit-Reset': String(SENT_S + 42) }, '42'],
    ['at least a second', { Date: DATE, 'X-Rate-Limit-Reset': String(SENT_S - 100) }, '1'],
    ['at most an hour', { Date: DATE, 'X-Rate-Limit-Reset': String(SENT_S + 100_000) }, '3600'],
    ['a minute if there is no reset', { Date: DATE }, '60'],
    ['a minute if the reset is invalid', { Date: DATE, 'X-Rate-Limit-Reset': 'soon' }, '60'],
    ['a minute if the date is invalid', { Date: 'yesterday', 'X-Rate-Limit-Reset': String(SENT_S) }, '60'],
  ])('a 429 has Retry-After: %s', async (_name, headers, seconds) => {
    expect((await headersOf(429, headers))['Retry-After']).toBe(seconds)
  })

  test('another status has no Retry-After', async () => {
    const headers = { Date: DATE, 'X-Rate-Limit-Reset': String(SENT_S + 42), 'Retry-After': '5' }
    expect(await headersOf(200, headers)).not.toHaveProperty('Retry-After')
  })
})

test('the Date header of an answer is kept', async () => {
  const { upstream } = await answering((_req, res) =>
    sendJson(res, 200, SUCCESS, { Date: 'Thu, 05 Nov 2026 06:00:00 GMT' }),
  )
  expect((await upstream.send(STATELESS, CLIENT)).date).toBe('Thu, 05 Nov 2026 06:00:00 GMT')
})
