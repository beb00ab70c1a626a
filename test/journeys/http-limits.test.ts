import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Answer, askPort, rawExchange } from '../http/serve.ts'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

/** Size limits, time limits and common response headers of the whole app, over real sockets. */

const ENV = { AUTHN_BASE_URL: 'https://org.example.net' } // nothing here is sent there
const MAX = { header: 4096, url: 2048, body: 4096 }
const HEADERS_TIMEOUT_MS = 400
const REQUEST_TIMEOUT_MS = 800

let smallLimits: Gatehouse
let shortTimeouts: Gatehouse
let httpsBroker: Gatehouse
beforeAll(async () => {
  smallLimits = await startGatehouse({
    env: ENV,
    tunables: (tunables) => ({
      ...tunables,
      http: {
        ...tunables.http,
        maxHeaderBytes: MAX.header,
        maxUrlBytes: MAX.url,
        bodyLimitBytes: MAX.body,
      },
    }),
  })
  shortTimeouts = await startGatehouse({
    env: ENV,
    tunables: (tunables) => ({
      ...tunables,
      http: {
        ...tunables.http,
        headersTimeoutMs: HEADERS_TIMEOUT_MS,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
        connectionsCheckIntervalMs: 50,
      },
    }),
  })
  httpsBroker = await startGatehouse({ env: { ...ENV, PUBLIC_URL: 'https://portal.example.com' } })
})
afterAll(() => Promise.all([smallLimits, shortTimeouts, httpsBroker].map((broker) => broker.stop())))

const portOf = ({ url }: Gatehouse) => Number(new URL(url).port)
const ME = '/api/v1/sessions/me'
const AUTHN = '/api/v1/authn'
const JSON_TYPE = { 'Content-Type': 'application/json' }

/** The status and the cause of a refusal; its body must be the Error object. */
const refusalIn = ({ status, json }: Answer) => {
  const { errorCode, errorCauses } = json as { errorCode: string; errorCauses: { errorSummary: string }[] }
  return [status, errorCode, errorCauses[0]?.errorSummary]
}

describe('too large', () => {
  test('a URL: 414, and one byte less passes', async () => {
    const path = (bytes: number) => `${ME}?x=`.padEnd(bytes, 'x')
    expect(refusalIn(await askPort(portOf(smallLimits), { path: path(MAX.url + 1) }))).toEqual([
      414,
      'E0000001',
      'url: too long',
    ])
    expect((await askPort(portOf(smallLimits), { path: path(MAX.url) })).status).toBe(404)
  })

  test('headers, one of them or all together: 431', async () => {
    const long = { 'X-Long': 'x'.repeat(MAX.header) }
    const many = Object.fromEntries(
      Array.from({ length: 200 }, (_, n) => [`X-Header-${n}`, 'x'.repeat(20)] as const),
    )
    for (const headers of [long, many]) {
      expect(refusalIn(await askPort(portOf(smallLimits), { path: ME, headers }))).toEqual([
        431,
        'E0000001',
        'headers: too long',
      ])
    }
  })

  test('too many cookies: the error is in the log and in the metrics', async () => {
    const { status, headers, json } = await askPort(portOf(smallLimits), {
      path: ME,
      headers: { Cookie: `jar=${'x'.repeat(MAX.header)}` },
    })
    const { errorId } = json as { errorId: string }
    expect([status, errorId]).toEqual([431, headers['x-request-id']])
    const line = {
      event: 'request',
      requestId: errorId,
      status: 431,
      errorCode: 'E0000001',
      address: '127.0.0.1',
    }
    expect(smallLimits.logLines()).toContainEqual(expect.objectContaining(line))
    expect(await smallLimits.metrics()).toMatch(
      /http_request_duration_seconds_count\{method="other",route="none",status="431"\} \d/,
    )
  })

  test('a body, with Content-Length or chunked: 413, before it is parsed', async () => {
    const body = JSON.stringify({ username: 'x'.repeat(MAX.body), password: 'plainly-fake' })
    for (const chunked of [false, true]) {
      const answer = await askPort(portOf(smallLimits), {
        method: 'POST',
        path: AUTHN,
        headers: JSON_TYPE,
        body,
        chunked,
      })
      expect(refusalIn(answer)).toEqual([413, 'E0000001', `body: larger than ${MAX.body} bytes`])
    }
  })

  test('the shipped limits: 8 kB, 16 kB and 64 kB', async () => {
    const asked = (given: Parameters<typeof askPort>[1]) =>
      askPort(portOf(httpsBroker), { path: ME, ...given })
    expect((await asked({ path: `${ME}?`.padEnd(8192, 'x') })).status).toBe(404)
    expect((await asked({ path: `${ME}?`.padEnd(8193, 'x') })).status).toBe(414)
    expect((await asked({ headers: { 'X-Long': 'x'.repeat(15_000) } })).status).toBe(404)
    expect((await asked({ headers: { 'X-Long': 'x'.repeat(16_384) } })).status).toBe(431)
    const post = (bytes: number) =>
      asked({ method: 'POST', path: AUTHN, headers: JSON_TYPE, body: '{}'.padEnd(bytes, ' ') })
    expect(refusalIn(await post(65_536))).not.toContain(413)
    expect(refusalIn(await post(65_537))[0]).toBe(413)
  })
})

/**
 * Sends the head, then one chunk after another until the server closes the connection. Returns what the server sent.
 * The client keeps its half of the connection open.
 */
async function sendSlowly(broker: Gatehouse, head: string, chunk: string): Promise<string> {
  const received: Buffer[] = []
  let isOver = false
  const socket: Socket = connect({ port: portOf(broker), host: '127.0.0.1', allowHalfOpen: true })
  socket.write(head)
  socket.on('data', (bytes: Buffer) => received.push(bytes))
  socket.on('error', () => undefined) // the server may reset the connection
  socket.on('close', () => {
    isOver = true
  })
  await until(
    async () => {
      if (!isOver) socket.write(chunk)
      await pause(20)
      return isOver
    },
    { what: 'the end of a slow request' },
  )
  return Buffer.concat(received).toString()
}

describe('too slow', () => {
  const TOO_SLOW =
    /^HTTP\/1\.1 408 [\s\S]*"errorCauses":\[\{"errorSummary":"request: not complete in time"\}\]/

  test('headers that arrive slowly: 408, and the connection is closed', async () => {
    expect(await sendSlowly(shortTimeouts, `GET ${ME} HTTP/1.1\r\nHost: x\r\n`, 'X-Slow: x\r\n')).toMatch(
      TOO_SLOW,
    )
  })

  test('a request line that arrives slowly: 408', async () => {
    expect(await sendSlowly(shortTimeouts, 'GET /', 'x')).toMatch(TOO_SLOW)
  })

  test.each([
    ['with Content-Length', 'Content-Length: 4000', '{'.padEnd(3), 'x'],
    ['chunked', 'Transfer-Encoding: chunked', '1\r\n{\r\n', '1\r\n \r\n'],
  ])('a body that arrives slowly, %s: 408', async (_name, header, first, chunk) => {
    const head = `POST ${AUTHN} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${header}\r\n\r\n${first}`
    expect(await sendSlowly(shortTimeouts, head, chunk)).toMatch(TOO_SLOW)
  })

  test('a hundred slow requests: 408 each, and other requests are still served', async () => {
    const isServed = async () => (await askPort(portOf(shortTimeouts), { path: ME })).status === 404
    const slow = Array.from({ length: 100 }, () =>
      sendSlowly(shortTimeouts, `POST ${AUTHN} HTTP/1.1\r\nHost: x\r\n`, 'X-Slow: x\r\n'),
    )
    await until(isServed)
    for (const answer of await Promise.all(slow)) expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    await until(isServed)
  })
})

test('a request target without a path is 404, whatever session it carries', async () => {
  const cookies = 'Cookie: gatehouse=s:nobodys\r\nX-Gatehouse-Session: nobodys'
  for (const line of ['GET *', 'OPTIONS *'])
    expect(
      await rawExchange(portOf(smallLimits), `${line} HTTP/1.1\r\nConnection: close\r\n${cookies}\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 404 /)
  expect(smallLimits.logText()).not.toContain('unexpected_error')
})

describe('every response', () => {
  /** Responses of every kind: success, refusals of routes and of middleware, and errors before any middleware. */
  const answersOf = async (broker: Gatehouse): Promise<[string, Answer][]> => {
    const port = portOf(broker)
    const asked: Record<string, Parameters<typeof askPort>[1]> = {
      'a route': { path: ME },
      HEAD: { path: ME, method: 'HEAD' },
      'no body': { path: '/forward-auth' },
      'an unknown path': { path: '/nowhere' },
      'an unknown method': { path: ME, method: 'PUT' },
      'a preflight': {
        path: ME,
        method: 'OPTIONS',
        headers: { Origin: broker.url, 'Access-Control-Request-Method': 'POST' },
      },
      'cross-site': { path: AUTHN, method: 'POST', headers: { 'Sec-Fetch-Site': 'cross-site' } },
      'not JSON': { path: AUTHN, method: 'POST', headers: JSON_TYPE, body: 'x' },
      'a long URL': { path: `/${'x'.repeat(10_000)}` },
      'an HTML error page': { path: '/sso/idps/1', headers: { Accept: 'text/html' } },
    }
    const entries = Object.entries(asked).map(
      async ([name, ask]): Promise<[string, Answer]> => [name, await askPort(port, ask)],
    )
    return Promise.all(entries)
  }

  test('has the security headers, is not cached, varies by Origin and names no software', async () => {
    for (const [name, { headers }] of await answersOf(httpsBroker)) {
      expect([name, headers]).toEqual([
        name,
        expect.objectContaining({
          'content-security-policy':
            "default-src 'none';frame-ancestors 'none';base-uri 'none';form-action 'none'",
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'referrer-policy': 'no-referrer',
          'cache-control': 'no-store',
          'strict-transport-security': 'max-age=31536000',
          vary: expect.stringMatching(/\bOrigin\b/),
        }),
      ])
      for (const banner of ['server', 'x-powered-by', 'via'])
        expect([name, headers]).not.toHaveProperty(`1.${banner}`)
      expect(JSON.stringify(headers)).not.toMatch(/express|node/i)
    }
  })

  test('has Strict-Transport-Security only if PUBLIC_URL is HTTPS', async () => {
    for (const [name, { headers }] of await answersOf(smallLimits)) {
      expect([name, headers['strict-transport-security']]).toEqual([name, undefined])
    }
  })

  test('that Node sends before any handler names no software either', async () => {
    for (const sent of [
      'nonsense\r\n\r\n',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`,
      'GET / HTTP/1.1\r\nExpect: tea\r\n\r\n',
    ]) {
      const answer = await rawExchange(portOf(httpsBroker), sent)
      expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
      expect(answer).toMatch(/\r\nCache-Control: no-store\r\n/)
      expect(answer).not.toMatch(/\r\n(server|x-powered-by|via):|express|node/i)
    }
  })

  test('of the operations listener names no software either', async () => {
    for (const path of ['/livez', '/nowhere', '/metrics']) {
      const { headers } = await askPort(Number(new URL(httpsBroker.opsUrl).port), { path })
      for (const banner of ['server', 'x-powered-by', 'via']) expect(headers).not.toHaveProperty(banner)
      expect(headers['cache-control']).toBe('no-store')
    }
  })
})
