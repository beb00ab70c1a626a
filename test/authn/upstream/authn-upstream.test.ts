import type { IncomingHttpHeaders } from 'node:http'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { Client } from '../../../src/authn/browser/client.ts'
import { type AuthnCall, createAuthnUpstream } from '../../../src/authn/upstream/authn-upstream.ts'
import { BrokerError } from '../../../src/errors.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { keeper } from '../../support/keeper.ts'
import { type StubListener, sendJson, startStubUpstream } from '../../support/stub-upstream.ts'
import { clientFor } from '../../upstream/client-for.ts'
import { CLIENT as RETURNED } from '../test-client.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const CLIENT: Client = { ...RETURNED, userAgent: 'Browser/1.0', acceptLanguage: 'de-CH' }
const STATELESS: AuthnCall = {
  path: '/api/v1/authn',
  body: { username: 'ada' },
  bearsToken: false,
  carriesApiToken: true,
}
const STATEFUL: AuthnCall = {
  path: '/api/v1/authn/skip',
  body: { stateToken: '00x' },
  bearsToken: true,
  carriesApiToken: true,
}
const SUCCESS = { status: 'SUCCESS' }
const INVALID_TOKEN = { errorCode: 'E0000011', errorSummary: 'Invalid token provided', errorId: 'oae1' }

interface Parts {
  readonly origin: string
  readonly totalTimeoutMs?: number
  readonly halfOpenAfterMs?: number
}

function upstreamAt({ origin, totalTimeoutMs = 60_000, halfOpenAfterMs = 60_000 }: Parts) {
  const { log, lines, text } = collectLog('debug')
  const metrics = createMetrics()
  const client = clientFor(origin, {
    totalTimeoutMs,
    breaker: { consecutiveFailures: 3, halfOpenAfterMs },
  })
  const upstream = keep(
    createAuthnUpstream({
      timeoutMs: totalTimeoutMs,
      maxConnections: 4,
      api: client,
      apiToken: 'first-token',
      log,
      metrics,
    }),
  )
  /** As the only call of its step. */
  const send = (call: AuthnCall, from = CLIENT) => upstream.send(call, from, upstream.deadline())
  const failureOf = async (call: AuthnCall): Promise<BrokerError> => {
    const error = await send(call).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(BrokerError)
    return error as BrokerError // just checked
  }
  const gauge = async () => (await metrics.upstreamTokenRefused.get()).values[0]?.value
  return { upstream, send, failureOf, lines, text, gauge }
}

async function answering(listener: StubListener, parts: Partial<Parts> = {}) {
  const stub = keep(await startStubUpstream(listener))
  return { stub, ...upstreamAt({ origin: stub.origin, ...parts }) }
}

test('the device token is the id of the device cookie, sent with primary authentication and with no other step', async () => {
  const { stub, send } = await answering((_req, res) => sendJson(res, 200, SUCCESS))
  for (const call of [STATELESS, STATEFUL]) await send(call)
  expect(stub.requests.map(({ body }) => body)).toEqual([
    { username: 'ada', context: { deviceToken: CLIENT.device.id } },
    { stateToken: '00x' },
  ])
})

describe('a response that does not have the API’s form', () => {
  // shows: V16.5.1
  test.each<[string, StubListener]>([
    [
      'HTML',
      (_req, res) => res.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>very-secret</html>'),
    ],
    ['a redirect', (_req, res) => sendJson(res, 302, SUCCESS, { Location: 'https://evil.example/' })],
    ['a list', (_req, res) => sendJson(res, 200, [SUCCESS])],
    ['an error without errorCode', (_req, res) => sendJson(res, 400, { message: 'very-secret' })],
    ['an error whose code is not a string', (_req, res) => sendJson(res, 403, { errorCode: 68 })],
    ['a 500 without errorCode', (_req, res) => sendJson(res, 500, {})],
    ['not modified', (_req, res) => res.writeHead(304).end()],
    ['a cut connection', (_req, res) => res.destroy()],
  ])('%s is 502, is sent once, and reveals nothing', async (_name, listener) => {
    const { failureOf, stub } = await answering(listener)
    const failure = await failureOf(STATELESS)
    expect([failure.status, failure.code]).toEqual([502, 'E0000009'])
    expect(`${failure.message}${failure.causes}`).not.toMatch(/secret|127\.0\.0\.1/)
    expect(stub.requests.length).toBe(1)
  })

  test.each<[string, StubListener]>([
    [
      'a page',
      (_req, res) => res.writeHead(403, { 'Content-Type': 'text/html' }).end('<html>very-secret</html>'),
    ],
    ['nothing', (_req, res) => res.writeHead(403).end()],
  ])(
    'a 403 with %s: the org refuses the address (S14), which shows nothing of the API token',
    async (_name, listener) => {
      const { failureOf, upstream } = await answering(listener)
      const failure = await failureOf(STATELESS)
      expect([failure.status, failure.code]).toEqual([403, 'E0000006'])
      expect(failure.causes.join()).toMatch(/^address: /)
      expect(upstream.tokenState()).toBe('unknown')
    },
  )

  test('an error with a code of another form passes, and its code is no label and no log field', async () => {
    const body = { errorCode: 'very-secret', errorSummary: 'Something else', errorId: 'oae1' }
    const { send } = await answering((_req, res) => sendJson(res, 400, body))
    const reply = await send(STATELESS)
    expect(reply).toMatchObject({ status: 400, isError: true, body })
    expect(reply.errorCode).toBeUndefined()
  })
})

describe('errors of the API pass unchanged', () => {
  // shows, F-1.26
  test.each([400, 401, 403, 404, 429, 500, 503])('status %i', async (status) => {
    const body = {
      errorCode: 'E0000068',
      errorSummary: 's',
      errorLink: 'E0000068',
      errorId: 'oae1',
      errorCauses: [],
    }
    const { send } = await answering((_req, res) => sendJson(res, status, body))
    const reply = await send(STATELESS)
    expect(reply).toMatchObject({ status, isError: true, errorCode: 'E0000068', body })
  })
})

describe('while Okta refuses the API token', () => {
  /** Accepts the valid API tokens. Every state token is unknown. */
  async function org(valid: Set<string>) {
    const used: string[] = []
    let next: { status: number; body: object } | undefined
    const answerNext = (status: number, body: object) => {
      next = { status, body }
    }
    const made = await answering((req, res) => {
      const token = req.headers.authorization?.replace('SSWS ', '') ?? ''
      used.push(token)
      const canned = next
      next = undefined
      if (canned !== undefined) sendJson(res, canned.status, canned.body)
      else if (!valid.has(token) || req.url.includes('gone')) sendJson(res, 401, INVALID_TOKEN)
      else sendJson(res, 200, SUCCESS)
    })
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
    const { upstream, send, lines } = await org(new Set(['first-token']))
    await send(STATELESS)
    expect(await send(GONE)).toMatchObject({ status: 401, errorCode: 'E0000011' })
    expect(upstream.tokenState()).not.toBe('failing')
    expect(lines()).toEqual([])
  })

  test('E0000011 on other calls is 503 too, so clients keep their transactions', async () => {
    const { failureOf } = await org(new Set())
    await failureOf(STATELESS)
    expect((await failureOf(STATEFUL)).status).toBe(503)
    expect((await failureOf(GONE)).status).toBe(503)
  })

  test('a call without the API token goes on, and shows nothing of the token', async () => {
    const valid = new Set<string>()
    const { failureOf, upstream, send, answerNext, lines } = await org(valid)
    const PUBLIC = { ...STATELESS, carriesApiToken: false }
    answerNext(200, SUCCESS)
    expect((await send(PUBLIC)).status).toBe(200)
    expect(await send(PUBLIC)).toMatchObject({ status: 401, errorCode: 'E0000011' })
    expect([upstream.tokenState(), lines()]).toEqual(['unknown', []])
    await failureOf(STATELESS)
    expect((await send(PUBLIC)).status).toBe(401)
    answerNext(200, SUCCESS)
    expect((await send(PUBLIC)).status).toBe(200)
    expect(upstream.tokenState()).toBe('failing')
  })

  test('a rate limit or a failure does not show that the token is accepted again', async () => {
    const valid = new Set<string>()
    const { failureOf, upstream, send, answerNext } = await org(valid)
    await failureOf(STATELESS)
    for (const status of [500, 400, 429]) {
      answerNext(status, { errorCode: 'E0000047', errorSummary: 'later', errorId: 'oae1' })
      await send(STATELESS)
      expect(upstream.tokenState()).toBe('failing')
    }
    expect((await failureOf(GONE)).status).toBe(503)
  })

  test('a token that is accepted again ends the alarm, and is logged', async () => {
    const valid = new Set<string>()
    const { failureOf, upstream, send, lines, gauge } = await org(valid)
    await failureOf(STATELESS)
    valid.add('first-token')
    expect((await send(STATELESS)).status).toBe(200)
    expect(upstream.tokenState()).not.toBe('failing')
    expect(await gauge()).toBe(0)
    expect((await send(GONE)).status).toBe(401)
    expect(lines().map(({ event }) => event)).toEqual([
      'upstream_token_refused',
      'upstream_token_accepted_again',
    ])
  })
})

describe('a request to Okta', () => {
  async function seenWith(client: Partial<Client>): Promise<IncomingHttpHeaders> {
    let seen: IncomingHttpHeaders = {}
    const { send } = await answering((req, res) => {
      seen = req.headers
      sendJson(res, 200, SUCCESS)
    })
    await send(STATELESS, { ...CLIENT, ...client })
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
        'accept',
        'accept-encoding',
        'accept-language',
        'authorization',
        'connection',
        'content-length',
        'content-type',
        'host',
        'user-agent',
        'x-device-fingerprint',
        'x-forwarded-for',
      ].sort(),
    )
  })

  test('without our token has the rest', async () => {
    let seen: IncomingHttpHeaders = {}
    const { send } = await answering((req, res) => {
      seen = req.headers
      sendJson(res, 200, SUCCESS)
    })
    await send({ ...STATELESS, carriesApiToken: false })
    expect(seen).toMatchObject({ 'x-forwarded-for': '198.51.100.7', 'user-agent': 'Browser/1.0' })
    expect(seen).not.toHaveProperty('authorization')
  })

  test.each([
    ['POST', '/api/v1/authn', 'https://portal.example.com'],
    ['POST', '/api/v1/authn/factors/opf1/verify', 'https://portal.example.com'],
    ['POST', '/api/v1/users/00u1/factors/opf1/lifecycle/activate/sms', undefined],
    ['GET', '/api/v1/users/00u1/factors/opf1/qr/x', undefined],
  ])('has the page’s origin only under /api/v1/authn: %s %s', async (method, path, origin) => {
    const seen: (string | undefined)[] = []
    const { upstream, send } = await answering((req, res) => {
      seen.push(req.headers.origin)
      sendJson(res, 200, SUCCESS)
    })
    const client = { ...CLIENT, origin: 'https://portal.example.com' }
    if (method === 'GET') await upstream.fetch({ path, accept: 'image/png', carriesApiToken: false, client })
    else await send({ ...STATELESS, path }, client)
    expect(seen).toEqual([origin])
  })
})

describe('a 429 without an Error object, such as the page of a network in front of the org', () => {
  test.each([
    ['text/html', '<html>very-secret gateway-7.internal.example.test</html>'],
    ['application/json', '{"message":"very-secret"}'],
    ['application/json', '["very-secret"]'],
    ['text/plain', ''],
  ])('is E0000047 with its Retry-After: %s %j', async (type, body) => {
    const { send } = await answering((_req, res) => {
      const headers = { 'Content-Type': type, 'Retry-After': '17', 'X-Okta-Request-Id': 'reqAbc-1_2' }
      res.writeHead(429, headers).end(body)
    })
    expect(await send(STATELESS)).toMatchObject({
      status: 429,
      isError: true,
      errorCode: 'E0000047',
      body: {
        errorCode: 'E0000047',
        errorSummary: 'API call exceeded rate limit due to too many requests.',
        errorLink: 'E0000047',
        errorId: 'reqAbc-1_2',
        errorCauses: [],
      },
      headers: { 'Retry-After': '17' },
    })
  })

  test.each([undefined, '', 'x'.repeat(100), '<script>'])(
    'has no other id if Okta names none: %j',
    async (id) => {
      const { send } = await answering((_req, res) => {
        res.writeHead(429, id === undefined ? {} : { 'X-Okta-Request-Id': id }).end()
      })
      expect((await send(STATELESS)).body.errorId).toBe('unknown')
    },
  )
})

describe('headers for the browser', () => {
  async function headersOf(status: number, headers: Record<string, string | string[]>) {
    const { send } = await answering((_req, res) =>
      sendJson(res, status, status === 200 ? SUCCESS : { errorCode: 'E0000047' }, headers),
    )
    return (await send(STATELESS)).headers
  }

  test('are the rate limits of a 429; no cookie, server, address or policy', async () => {
    expect(
      await headersOf(429, {
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
      'Retry-After': '3600',
    })
  })

  test.each(['', '-1', '1.5', 'many', '1e9', '9'.repeat(16), '1, 2'])(
    'a limit of %j is dropped',
    async (value) => {
      expect(await headersOf(429, { 'X-Rate-Limit-Limit': value })).toEqual({ 'Retry-After': '60' })
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

  test.each<[string, Record<string, string>, string]>([
    ['in seconds', { 'Retry-After': '7' }, '7'],
    ['as a date, by Okta’s clock', { Date: DATE, 'Retry-After': 'Thu, 05 Nov 2026 06:00:09 GMT' }, '9'],
    ['at least a second', { 'Retry-After': '0' }, '1'],
    ['at most an hour', { 'Retry-After': '86400' }, '3600'],
    ['not if it is invalid', { 'Retry-After': 'soon' }, '60'],
    ['not if it is a date, and Okta’s clock is unknown', { Date: 'x', 'Retry-After': DATE }, '60'],
    [
      'not if there is a reset',
      { Date: DATE, 'Retry-After': '7', 'X-Rate-Limit-Reset': String(SENT_S + 42) },
      '42',
    ],
  ])('Okta’s own Retry-After: %s', async (_name, headers, seconds) => {
    expect((await headersOf(429, headers))['Retry-After']).toBe(seconds)
  })

  test('another status has none: the remaining number would show how many calls a step cost', async () => {
    const limits = { 'X-Rate-Limit-Limit': '600', 'X-Rate-Limit-Remaining': '599' }
    const headers = { Date: DATE, ...limits, 'X-Rate-Limit-Reset': String(SENT_S + 42), 'Retry-After': '5' }
    for (const status of [200, 403, 500]) expect(await headersOf(status, headers)).toEqual({})
  })
})
