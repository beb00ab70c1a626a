import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Answer, askPort, rawExchange } from '../http/serve.ts'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

/** What a request may be at most, how long it may take, and what every answer bears: the whole app, over real sockets. */

const ENV = { AUTHN_BASE_URL: 'https://org.example.net' } // nothing here is sent there
const MAX = { header: 4096, url: 2048, body: 4096 }
const HEADERS_TIMEOUT_MS = 400
const REQUEST_TIMEOUT_MS = 800

let small: Gatehouse
let quick: Gatehouse
let secure: Gatehouse
beforeAll(async () => {
  small = await startGatehouse({
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
  quick = await startGatehouse({
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
  secure = await startGatehouse({ env: { ...ENV, PUBLIC_URL: 'https://portal.example.com' } })
})
afterAll(() => Promise.all([small, quick, secure].map((broker) => broker.stop())))

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
    expect(refusalIn(await askPort(portOf(small), { path: path(MAX.url + 1) }))).toEqual([
      414,
      'E0000001',
      'url: too long',
    ])
    expect((await askPort(portOf(small), { path: path(MAX.url) })).status).toBe(404)
  })

  test('headers, one or all together: 431', async () => {
    const long = { 'X-Long': 'x'.repeat(MAX.header) }
    const many = Object.fromEntries(
      Array.from({ length: 200 }, (_, n) => [`X-Header-${n}`, 'x'.repeat(20)] as const),
    )
    for (const headers of [long, many]) {
      expect(refusalIn(await askPort(portOf(small), { path: ME, headers }))).toEqual([
        431,
        'E0000001',
        'headers: too long',
      ])
    }
  })

  test('a full cookie jar: the error that its owner sees is in the log and in the metrics', async () => {
    const { status, headers, json } = await askPort(portOf(small), {
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
    expect(small.logLines()).toContainEqual(expect.objectContaining(line))
    expect(await small.metrics()).toMatch(
      /http_request_seconds_count\{method="other",route="none",status="431"\} \d/,
    )
  })

  test('a body, its length told or not: 413, before anything else is made of it', async () => {
    const body = JSON.stringify({ username: 'x'.repeat(MAX.body), password: 'plainly-fake' })
    for (const chunked of [false, true]) {
      const answer = await askPort(portOf(small), {
        method: 'POST',
        path: AUTHN,
        headers: JSON_TYPE,
        body,
        chunked,
      })
      expect(refusalIn(answer)).toEqual([413, 'E0000001', `body: larger than ${MAX.body} bytes`])
    }
  })

  test('what is shipped: 8 kB, 16 kB and 64 kB', async () => {
    const asked = (given: Parameters<typeof askPort>[1]) => askPort(portOf(secure), { path: ME, ...given })
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
 * Sends the head, and then drop by drop until it is cut off: it does not hang up when the other side does. Gives what
 * that one said.
 */
async function drip(broker: Gatehouse, head: string, drop: string): Promise<string> {
  const received: Buffer[] = []
  let isOver = false
  const socket: Socket = connect({ port: portOf(broker), host: '127.0.0.1', allowHalfOpen: true })
  socket.write(head)
  socket.on('data', (bytes: Buffer) => received.push(bytes))
  socket.on('error', () => undefined) // a reset is one way of saying so
  socket.on('close', () => {
    isOver = true
  })
  await until(
    async () => {
      if (!isOver) socket.write(drop)
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

  test('headers that come drop by drop: 408, and the connection ends', async () => {
    expect(await drip(quick, `GET ${ME} HTTP/1.1\r\nHost: x\r\n`, 'X-Slow: x\r\n')).toMatch(TOO_SLOW)
  })

  test('a first line that comes drop by drop', async () => {
    expect(await drip(quick, 'GET /', 'x')).toMatch(TOO_SLOW)
  })

  test.each([
    ['its length told', 'Content-Length: 4000', '{'.padEnd(3), 'x'],
    ['in chunks', 'Transfer-Encoding: chunked', '1\r\n{\r\n', '1\r\n \r\n'],
  ])('a body that comes drop by drop, %s', async (_name, header, first, drop) => {
    const head = `POST ${AUTHN} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${header}\r\n\r\n${first}`
    expect(await drip(quick, head, drop)).toMatch(TOO_SLOW)
  })

  test('many of them, and everybody else is still answered', async () => {
    const isAnswered = async () => (await askPort(portOf(quick), { path: ME })).status === 404
    const slow = Array.from({ length: 100 }, () =>
      drip(quick, `POST ${AUTHN} HTTP/1.1\r\nHost: x\r\n`, 'X-Slow: x\r\n'),
    )
    await until(isAnswered)
    for (const answer of await Promise.all(slow)) expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    await until(isAnswered)
  })
})

test('a request target without a path is no path of ours, whatever session it speaks of', async () => {
  const cookies = 'Cookie: gatehouse=s:nobodys\r\nX-Gatehouse-Session: nobodys'
  for (const line of ['GET *', 'OPTIONS *'])
    expect(
      await rawExchange(portOf(small), `${line} HTTP/1.1\r\nConnection: close\r\n${cookies}\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 404 /)
  expect(small.logText()).not.toContain('unexpected_error')
})

describe('every answer', () => {
  /** Of every kind there is: done, refused by a route, by the first lines of defence, and before any code of ours. */
  const answersOf = async (broker: Gatehouse): Promise<[string, Answer][]> => {
    const port = portOf(broker)
    const asked: Record<string, Parameters<typeof askPort>[1]> = {
      'a route': { path: ME },
      HEAD: { path: ME, method: 'HEAD' },
      'no body': { path: '/forward-auth' },
      'no path of ours': { path: '/nowhere' },
      'no method of ours': { path: ME, method: 'PUT' },
      'a preflight': {
        path: ME,
        method: 'OPTIONS',
        headers: { Origin: broker.url, 'Access-Control-Request-Method': 'POST' },
      },
      'cross-site': { path: AUTHN, method: 'POST', headers: { 'Sec-Fetch-Site': 'cross-site' } },
      'not JSON': { path: AUTHN, method: 'POST', headers: JSON_TYPE, body: 'x' },
      'a long URL': { path: `/${'x'.repeat(10_000)}` },
      'a page of an error': { path: '/sso/idps/1', headers: { Accept: 'text/html' } },
    }
    const entries = Object.entries(asked).map(
      async ([name, ask]): Promise<[string, Answer]> => [name, await askPort(port, ask)],
    )
    return Promise.all(entries)
  }

  test('loads nothing, frames nothing, is kept by nobody, varies by who asks, and names no software', async () => {
    for (const [name, { headers }] of await answersOf(secure)) {
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

  test('promises HTTPS only where PUBLIC_URL is HTTPS', async () => {
    for (const [name, { headers }] of await answersOf(small)) {
      expect([name, headers['strict-transport-security']]).toEqual([name, undefined])
    }
  })

  test('that Node gives by itself says no more', async () => {
    for (const sent of [
      'nonsense\r\n\r\n',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`,
      'GET / HTTP/1.1\r\nExpect: tea\r\n\r\n',
    ]) {
      const answer = await rawExchange(portOf(secure), sent)
      expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
      expect(answer).toMatch(/\r\nCache-Control: no-store\r\n/)
      expect(answer).not.toMatch(/\r\n(server|x-powered-by|via):|express|node/i)
    }
  })

  test('of the operations listener names no software either', async () => {
    for (const path of ['/livez', '/nowhere', '/metrics']) {
      const { headers } = await askPort(Number(new URL(secure.opsUrl).port), { path })
      for (const banner of ['server', 'x-powered-by', 'via']) expect(headers).not.toHaveProperty(banner)
      expect(headers['cache-control']).toBe('no-store')
    }
  })
})
