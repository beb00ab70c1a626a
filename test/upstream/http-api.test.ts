import type { Socket } from 'node:net'
import { deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from '@jest/globals'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { HttpApi, HttpApiOptions } from '../../src/upstream/http-api.ts'
import type { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'
import { keeper } from '../support/keeper.ts'
import {
  deadPort,
  type StubListener,
  type StubUpstream,
  sendJson,
  startStubUpstream,
} from '../support/stub-upstream.ts'
import { until } from '../support/until.ts'
import { clientFor, failureOf } from './client-for.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

async function upstream(answer: StubListener, options: Partial<HttpApiOptions> = {}) {
  const stub = keep(await startStubUpstream(answer))
  return { stub, client: keep(clientFor(stub.origin, options)) }
}

/** For responses that no HTTP server would send. */
function rawly(onRequest: (socket: Socket) => void, options: Partial<HttpApiOptions> = {}) {
  return upstream(({ socket }) => onRequest(socket), options)
}

const SECRET_PATH = '/api/v1/authn/very-secret-path'
const POST = {
  method: 'POST',
  path: SECRET_PATH,
  headers: { Authorization: 'SSWS very-secret-token' },
  body: { password: 'very-secret-password' },
} as const

/** The error must contain only the outcome and the code, and no part of the request or the host. */
function expectTellsNothing(failure: UpstreamFailure, stub?: StubUpstream) {
  const told = `${failure.message} ${JSON.stringify(failure)} ${JSON.stringify(Object.entries(failure))}`
  expect(told).not.toMatch(/secret|127\.0\.0\.1|localhost|http:/)
  if (stub !== undefined) expect(told).not.toContain(String(stub.port))
  expect(failure.cause).toBeUndefined()
}

const json =
  (body: unknown, status = 200): StubListener =>
  (_req, res) =>
    sendJson(res, status, body)

test('its time is that of the last Date, advanced by the monotonic clock', async () => {
  const dates = ['Fri, 02 Jan 2026 12:00:00 GMT', 'Fri, 02 Jan 2026 13:00:00 GMT', 'no date', undefined]
  const { client } = await upstream((_req, res) => {
    const date = dates.shift()
    res.sendDate = false
    if (date !== undefined) res.setHeader('Date', date)
    res.end()
  })
  const times: unknown[] = [client.time()]
  while (dates.length > 0) {
    await client.send(POST)
    times.push(client.time())
  }
  const [before, noon, one, unreadable, without] = times
  expect([before, unreadable, without]).toEqual([undefined, undefined, undefined])
  expect(Number(noon)).toBeGreaterThan(Date.parse('2026-01-02T12:00:00Z'))
  expect(Number(one) - Number(noon)).toBeGreaterThan(3_599_000)
  expect(Number(one) - Number(noon)).toBeLessThan(3_660_000)
})

describe('no response', () => {
  test('a refused connection: the request did not arrive', async () => {
    const client = keep(clientFor(`http://127.0.0.1:${await deadPort()}`))
    const failure = await failureOf(client.send(POST))
    expect(failure.outcome).toBe('unreachable')
    expect(failure.code).toBe('ECONNREFUSED')
    expectTellsNothing(failure)
  })

  test('a request’s time limit is never longer than the client’s', async () => {
    const { client } = await upstream(() => undefined, { totalTimeoutMs: 300 })
    expect((await failureOf(client.send({ ...POST, timeoutMs: 600_000 }))).outcome).toBe('timeout')
  })

  test('a call whose time is over frees its connection, or is not sent if it had none', async () => {
    const answerNext: StubListener = ({ url }, res) => url === '/next' && res.end()
    const { stub, client } = await upstream(answerNext, { totalTimeoutMs: 600_000, maxConnections: 1 })
    const late = [200, 100].map((timeoutMs) => failureOf(client.send({ ...POST, timeoutMs })))
    for (const { outcome } of await Promise.all(late)) expect(outcome).toBe('timeout')
    await client.send({ ...POST, path: '/next' })
    expect(stub.requests.at(-1)?.url).toBe('/next')
    expect(stub.requests.length).toBeLessThan(3)
  })

  // shows: V13.2.6
  test('a body that arrives byte by byte ends at the total time limit', async () => {
    const { stub, client } = await upstream(
      (_req, res) => {
        res.writeHead(200, { 'Content-Type': 'application/json' })
        const drip = setInterval(() => res.write(' '), 20)
        res.on('close', () => clearInterval(drip))
      },
      { totalTimeoutMs: 500 },
    )
    const failure = await failureOf(client.send(POST))
    expect(failure.outcome).toBe('timeout')
    expectTellsNothing(failure, stub)
    expect(stub.requests.length).toBe(1)
  })

  const OK = 'HTTP/1.1 200 OK\r\n'
  const OK_JSON = `${OK}Content-Type: application/json\r\n`
  test.each<[string, (socket: Socket) => void]>([
    ['a connection closed before any header', (socket) => socket.destroy()],
    ['a connection reset', (socket) => socket.resetAndDestroy()],
    ['a connection closed in the middle of the headers', (socket) => socket.end(`${OK}Content-Ty`)],
    ['a connection closed after the headers', (socket) => socket.end(`${OK_JSON}Content-Length: 9\r\n\r\n`)],
    ['a truncated body', (socket) => socket.end(`${OK_JSON}Content-Length: 100\r\n\r\n{"a":1}`)],
    [
      'a chunked body without its end',
      (socket) => socket.end(`${OK_JSON}Transfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n`),
    ],
    ['two lengths', (socket) => socket.write(`${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`)],
    ['something that is not HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.7 very-secret\r\n')],
    ['headers without end', (socket) => socket.write(`${OK}${'X-A: b\r\n'.repeat(10_000)}\r\n`)],
  ])('%s: the request may have arrived', async (_name, onRequest) => {
    const { stub, client } = await rawly(onRequest)
    const failure = await failureOf(client.send(POST))
    expect(failure.outcome).toBe('connection_lost')
    expectTellsNothing(failure, stub)
    expect(stub.requests.length).toBe(1)
  })

  test.each([
    ['with a Content-Length', { 'Content-Length': 50_000_000 }],
    ['in chunks', {}],
  ])('a body over the size limit, %s, is not read to its end', async (_how, length) => {
    let sent = 0
    const { stub, client } = await upstream(
      (_req, res) => {
        const chunk = Buffer.alloc(10_000, 'x')
        res.writeHead(200, { 'Content-Type': 'application/json', ...length })
        const pump = () => {
          while (!res.destroyed && sent < 50_000_000) {
            sent += chunk.length
            if (!res.write(chunk)) return void res.once('drain', pump)
          }
        }
        pump()
      },
      { maxResponseBytes: 100_000 },
    )
    const failure = await failureOf(client.send(POST))
    expect(failure.outcome).toBe('response_too_large')
    expectTellsNothing(failure, stub)
    expect(sent).toBeLessThan(50_000_000)
  })
})

describe('a request is never sent twice', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['503', (socket) => socket.end('HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n')],
    ['408', (socket) => socket.end('HTTP/1.1 408 Time\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')],
    ['425', (socket) => socket.end('HTTP/1.1 425 Early\r\nContent-Length: 0\r\n\r\n')],
    ['429', (socket) => socket.end('HTTP/1.1 429 Many\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n')],
  ])('%s', async (_name, onRequest) => {
    const { stub, client } = await rawly(onRequest)
    for (const method of ['POST', 'GET'] as const) {
      await client.send({ method, path: '/', headers: {} }).catch(() => undefined)
    }
    expect(stub.requests.length).toBe(2)
  })

  test('a keep-alive connection that is closed during the next request', async () => {
    let requests = 0
    const { stub, client } = await rawly((socket) => {
      requests += 1
      if (requests === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      else socket.destroy()
    })
    await client.send(POST)
    expect((await failureOf(client.send(POST))).outcome).toBe('connection_lost')
    expect(stub.requests.length).toBe(2)
  })
})

describe('calls stay on their origin', () => {
  // shows: V1.3.6, V13.2.4
  test.each([
    '//evil.example/x',
    '/\\evil.example/x',
    '\\\\evil.example/x',
    'http://evil.example/x',
    'https://evil.example/x',
    'ftp://evil.example/x',
    '\t//evil.example/x',
    '/\n/evil.example/x',
  ])('%j is refused before anything is sent', async (path) => {
    const { stub, client } = await upstream(json({}))
    await expect(client.send({ ...POST, path })).rejects.toThrow('an upstream path must stay on its origin')
    expect(stub.requests.length).toBe(0)
  })

  // shows: V1.2.2
  test.each(['/.//evil.invalid/x', '/a/..//evil.invalid/x', '/%2e//evil.invalid/x'])(
    '%j contains another host only after normalization, and is sent to the configured host',
    async (path) => {
      const seen: (string | undefined)[] = []
      const { client } = await upstream((req, res) => {
        seen.push(req.url, req.headers.host)
        res.end()
      })
      expect((await client.send({ ...POST, path })).status).toBe(200)
      expect(seen[0]).toBe('//evil.invalid/x')
      expect(seen[1]).toMatch(/^127\.0\.0\.1:/)
    },
  )

  test('an absolute URL of the same origin and a query are accepted', async () => {
    const seen: (string | undefined)[] = []
    const { stub, client } = await upstream((req, res) => {
      seen.push(req.url)
      res.end()
    })
    await client.send({ ...POST, path: `${stub.origin}/a?b=c` })
    await client.send({ ...POST, path: '/a/../b?rememberDevice=true' })
    expect(seen).toEqual(['/a?b=c', '/b?rememberDevice=true'])
  })

  // shows: V15.3.2
  test.each([301, 302, 303, 307, 308])(
    'a redirect (%i) is a response, and is not followed',
    async (status) => {
      const other = keep(await startStubUpstream(json({})))
      const { stub, client } = await upstream((_req, res) => {
        res.writeHead(status, { Location: `${other.origin}/elsewhere` }).end()
      })
      const answer = await client.send(POST)
      expect(answer.status).toBe(status)
      expect(answer.json).toBeUndefined()
      expect(stub.requests.length).toBe(1)
      expect(other.requests.length).toBe(0)
    },
  )
})

describe('a response', () => {
  test('of any status, with its JSON, its bytes and its headers', async () => {
    const { client } = await upstream((_req, res) => {
      res.writeHead(403, { 'Content-Type': 'application/json;charset=UTF-8', 'X-Rate-Limit-Limit': '600' })
      res.end('{"errorCode":"E0000068"}')
    })
    const answer = await client.send(POST)
    expect(answer.status).toBe(403)
    expect(answer.json).toEqual({ errorCode: 'E0000068' })
    expect(answer.bytes.toString()).toBe('{"errorCode":"E0000068"}')
    expect(answer.headers['x-rate-limit-limit']).toBe('600')
  })

  test.each(['utf8', 'UTF8', '"utf8"', 'utf-8'])('with the charset %s is read as UTF-8', async (charset) => {
    const { client } = await upstream((_req, res) => {
      res.writeHead(200, { 'Content-Type': `application/json; charset=${charset}` }).end('{"a":"Zoë 王"}')
    })
    expect((await client.send(POST)).json).toEqual({ a: 'Zoë 王' })
  })

  test.each<[string, string | undefined, string]>([
    ['HTML', 'text/html', '<html>very-secret</html>'],
    ['HTML declared as JSON', 'application/json', '<html></html>'],
    ['JSON declared as HTML', 'text/html', '{"status":"SUCCESS"}'],
    ['JSON without a type', undefined, '{"status":"SUCCESS"}'],
    ['nothing', 'application/json', ''],
    ['truncated JSON', 'application/json', '{"a":'],
  ])('with %s has no JSON', async (_name, type, body) => {
    const { client } = await upstream((_req, res) => {
      res.writeHead(200, type === undefined ? {} : { 'Content-Type': type }).end(body)
    })
    const answer = await client.send(POST)
    expect(answer.status).toBe(200)
    expect(answer.json).toBeUndefined()
    expect(answer.bytes.toString()).toBe(body)
  })

  test.each(['[1]', '"text"', 'null', '17'])(
    'that is JSON but no object (%s) is returned unchanged',
    async (body) => {
      const { client } = await upstream((_req, res) => {
        res.writeHead(200, { 'Content-Type': 'application/hal+json; charset=utf-8' }).end(body)
      })
      expect((await client.send(POST)).json).toEqual(JSON.parse(body))
    },
  )

  describe.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
  ])('that is compressed although the request does not allow it: %s', (encoding, compress) => {
    const compressed = (body: string) =>
      upstream(
        (_req, res) => {
          res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': encoding })
          res.end(compress(body))
        },
        { maxResponseBytes: 1000 },
      )

    test('is decompressed', async () => {
      const { client } = await compressed('{"status":"SUCCESS"}')
      expect((await client.send(POST)).json).toEqual({ status: 'SUCCESS' })
    })

    test('is refused if it is larger than the maximum after decompression', async () => {
      const exact = await compressed(JSON.stringify('x'.repeat(998)))
      expect((await exact.client.send(POST)).bytes.length).toBe(1000)
      const { client } = await compressed(JSON.stringify('x'.repeat(999)))
      expect((await failureOf(client.send(POST))).outcome).toBe('response_too_large')
    })
  })
})

describe('requests', () => {
  test('contain the JSON byte for byte and only the given headers', async () => {
    const { stub, client } = await upstream((_req, res) => res.end())
    const body = { password: '  p\u0000ä😀" ', stateToken: null }
    await client.send({ ...POST, path: '/api?x=1', body })
    const [seen] = stub.requests
    expect(seen?.url).toBe('/api?x=1')
    expect(JSON.parse(seen?.text ?? '')).toEqual(body)
    expect(Object.keys(seen?.headers ?? {}).sort()).toEqual(
      ['accept-encoding', 'authorization', 'connection', 'content-length', 'content-type', 'host'].sort(),
    )
    expect(seen?.headers['content-type']).toBe('application/json')
    expect(seen?.headers['accept-encoding']).toBe('identity')
  })

  // shows: V1.2.1
  test('a value with a line break does not add a header', async () => {
    const seen: unknown[] = []
    const { client } = await upstream((req, res) => {
      seen.push(req.headers.injected, req.url)
      res.end()
    })
    const headers = { 'User-Agent': 'a\r\nInjected: b\r\n\r\nGET /smuggled HTTP/1.1' }
    const path = '/ HTTP/1.1\r\nInjected: b'
    await client.send({ method: 'GET', path: '/', headers }).catch(() => undefined)
    await client.send({ method: 'GET', path, headers: {} }).catch(() => undefined)
    expect(seen).not.toContain('b')
    expect(seen).not.toContain('/smuggled')
  })

  test('after close nothing is sent', async () => {
    const { stub, client } = await upstream(json({}))
    await client.close()
    await failureOf(client.send(POST))
    expect(stub.requests.length).toBe(0)
  })
})

describe('the breaker', () => {
  /** Stays open for longer than a test takes, unless the test sets another time. */
  const LONG_MS = 60_000
  async function breakable(
    mode: { cut: boolean },
    { halfOpenAfterMs = LONG_MS, ...options }: Partial<HttpApiOptions> & { halfOpenAfterMs?: number } = {},
  ) {
    const states: string[] = []
    const { stub, client } = await rawly(
      (socket) => {
        if (mode.cut) socket.destroy()
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      },
      {
        breaker: {
          consecutiveFailures: 3,
          halfOpenAfterMs,
          onChange: (state) => states.push(state),
        },
        ...options,
      },
    )
    return { stub, client, states }
  }
  const fail = (client: HttpApi) => client.send(POST).catch((error: UpstreamFailure) => error.outcome)

  // shows: V16.5.2
  test('opens after several failures in a row; then nothing is sent, and the failure has a retry time', async () => {
    const { stub, client, states } = await breakable({ cut: true })
    expect([await fail(client), await fail(client)]).toEqual(['connection_lost', 'connection_lost'])
    expect(states).toEqual([])
    expect(await fail(client)).toBe('connection_lost')
    expect(states).toEqual(['open'])
    const failure = await failureOf(client.send(POST))
    expect([failure.outcome, failure.retryAfterMs]).toEqual(['breaker_open', LONG_MS])
    expectTellsNothing(failure, stub)
    expect(stub.requests.length).toBe(3)
    expect(states).toEqual(['open'])
  })

  test('a failed probe keeps it open, a successful one closes it', async () => {
    const mode = { cut: true }
    const { stub, client, states } = await breakable(mode, { halfOpenAfterMs: 1000 })
    for (let call = 0; call < 3; call++) await fail(client)

    expect(await until(async () => (await fail(client)) === 'connection_lost')).toBe(true)
    expect([stub.requests.length, states.at(-1)]).toEqual([4, 'open'])
    expect(await fail(client)).toBe('breaker_open')

    mode.cut = false
    await until(async () => typeof (await fail(client)) === 'object')
    expect(stub.requests.length).toBe(5)
    expect(states.at(-1)).toBe('closed')
  })

  test('responses of any status or size are no failures', async () => {
    const breaker = { consecutiveFailures: 2, halfOpenAfterMs: 1000 }
    const { client } = await upstream(json({ errorCode: 'E0000009' }, 500), { breaker })
    for (let call = 0; call < 5; call++) expect((await client.send(POST)).status).toBe(500)
    const large = await upstream(json('x'.repeat(2000)), { breaker, maxResponseBytes: 1000 })
    for (let call = 0; call < 5; call++) {
      expect((await failureOf(large.client.send(POST))).outcome).toBe('response_too_large')
    }
  })

  test('every call is measured with its outcome, and every response is counted by its status', async () => {
    const metrics = createMetrics()
    const { client } = await breakable({ cut: true }, { metrics })
    for (let call = 0; call < 4; call++) await fail(client)
    const limited = await upstream(json({ errorCode: 'E0000047' }, 429), { metrics })
    for (let call = 0; call < 2; call++) await limited.client.send(POST)
    const shown = await metrics.registry.metrics()
    for (const [outcome, count] of [
      ['connection_lost', 3],
      ['breaker_open', 1],
      ['429', 2],
    ])
      expect(shown).toContain(
        `gatehouse_upstream_request_duration_seconds_count{upstream="authn",outcome="${outcome}"} ${count}`,
      )
    const responses = shown
      .split('\n')
      .filter((line) => line.startsWith('gatehouse_upstream_responses_total'))
    expect(responses).toEqual(['gatehouse_upstream_responses_total{upstream="authn",status="429"} 2'])
  })
})
