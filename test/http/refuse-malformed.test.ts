import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import { bodyParser } from '../../src/http/body-parser.ts'
import type { Route } from '../../src/http/route.ts'
import { rawExchange } from '../support/ask-port.ts'
import { useKeeper } from '../support/keeper.ts'
import { until } from '../support/until.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

const NO_HTTP = 'very-secret nonsense\r\n\r\n'
const FULL_JAR = `GET / HTTP/1.1\r\nHost: a\r\nCookie: a=very-secret${'x'.repeat(40_000)}\r\n\r\n`

/** Short limits, so that slow clients are detected at once. */
const HASTY = { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 }

/** Head and body of a response. */
function partsOf(received: string) {
  const [head = '', body = ''] = received.split('\r\n\r\n')
  const requestId = /^x-request-id: (.+)$/im.exec(head)?.[1]
  return { head, body: JSON.parse(body) as Record<string, unknown>, requestId }
}

const requestLines = ({ lines }: Awaited<ReturnType<typeof serve>>) =>
  lines().filter(({ event }) => event === 'request')

async function countedRequests({ metrics }: Awaited<ReturnType<typeof serve>>) {
  const { values } = await metrics.httpRequestDuration.get()
  const counts = values.filter(
    ({ metricName }) => metricName === 'gatehouse_http_request_duration_seconds_count',
  )
  return counts.map(({ labels, value }) => [labels.method, labels.route, labels.status, value])
}

describe('requests that Node refuses', () => {
  // shows: V4.2.1
  test.each([
    ['invalid HTTP', NO_HTTP, '400 Bad Request', 'request: malformed'],
    [
      'an unsupported Expect',
      'GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-very-secret\r\n\r\n',
      '417 Expectation Failed',
      'Expect: only 100-continue is supported',
    ],
    ['too many cookies', FULL_JAR, '431 Request Header Fields Too Large', 'headers: too long'],
    [
      'headers that do not arrive',
      'GET / HTTP/1.1\r\nHost: very-secret\r\n',
      '408 Request Timeout',
      expect.any(String),
    ],
  ])(
    '%s: an Error object without parts of the request, and the connection is closed',
    async (_, sent, statusLine, cause) => {
      const status = Number.parseInt(statusLine, 10)
      const served = keep(await serve({ patience: HASTY }))
      const received = await rawExchange(served.port, sent)
      const { head, body, requestId } = partsOf(received)
      expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 ${statusLine}`)
      expect(head).toMatch(/content-type: application\/json/i)
      expect(head).toMatch(/cache-control: no-store/i)
      expect(head).toMatch(/x-content-type-options: nosniff/i)
      expect(body).toMatchObject({
        errorCode: 'E0000001',
        errorLink: 'E0000001',
        errorId: requestId,
        errorCauses: [{ errorSummary: cause }],
      })
      expect(requestLines(served)).toEqual([
        {
          time: expect.any(String),
          level: 'info',
          event: 'request',
          requestId,
          address: '127.0.0.1',
          method: 'other',
          route: 'none',
          status,
          errorCode: 'E0000001',
        },
      ])
      expect(await countedRequests(served)).toEqual([['other', 'none', status, 1]])
      expect(received + served.logText()).not.toContain('very-secret')
    },
  )

  test('an unused connection is closed silently, and is not logged as a request', async () => {
    const served = keep(await serve({ patience: HASTY }))
    expect(await unusedConnection(served.port)).toEqual({ received: '', hasEnded: true })
    expect(requestLines(served)).toEqual([])
    expect(await countedRequests(served)).toEqual([])
  })
})

/**
 * What arrives on a connection on which nothing is sent, until it closes, and whether it ends
 * without a reset.
 */
function unusedConnection(port: number): Promise<{ received: string; hasEnded: boolean }> {
  return new Promise((resolve, reject) => {
    const state = { received: '', hasEnded: false }
    const socket = connect(port, '127.0.0.1')
    socket.on('data', (chunk: Buffer) => {
      state.received += chunk.toString()
    })
    socket.on('end', () => {
      state.hasEnded = true
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(state))
  })
}

const ROUTE: Route = {
  method: 'POST',
  path: '/here',
  handle(_req, res) {
    res.json({})
  },
}

describe('a request that has reached the middleware', () => {
  const HEAD = 'POST /here HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'

  test.each([
    ['whose body does not arrive', `${HEAD}Content-Length: 10\r\n\r\n{`, 408],
    ['whose body is malformed', `${HEAD}Transfer-Encoding: chunked\r\n\r\nvery-secret\r\n`, 400],
  ])('%s gets its own response and one log line', async (_, sent, status) => {
    const served = keep(await serve({ patience: HASTY, before: [bodyParser()], routes: [ROUTE] }))
    const received = await rawExchange(served.port, sent)
    const { head, body, requestId } = partsOf(received)
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(head).toMatch(/^connection: close$/im)
    expect(body).toMatchObject({ errorCode: 'E0000001', errorId: requestId })
    await until(() => requestLines(served).length > 0)
    expect(requestLines(served)).toMatchObject([
      { requestId, method: 'POST', status, errorCode: 'E0000001', durationMs: expect.any(Number) },
    ])
    expect(await countedRequests(served)).toEqual([['POST', 'none', status, 1]])
    expect(received + served.logText()).not.toContain('very-secret')
  })
})

test('a malformed body after the start of the response: nothing is added to the response', async () => {
  const begin: Route = {
    method: 'POST',
    path: '/here',
    handle(req, res) {
      req.resume()
      res.write('half')
    },
  }
  const served = keep(await serve({ routes: [begin] }))
  const received = await rawExchange(
    served.port,
    'POST /here HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n',
  )
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  expect(received).toMatch(/\r\n4\r\nhalf\r\n$/) // not the end of a chunked body
})

test('the connection of a refused request is closed even if its client does not close it', async () => {
  const { port } = keep(await serve({}))
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => client.write(NO_HTTP))
  keep({ close: () => client.destroy() })
  client.on('error', () => undefined).resume()
  await once(client, 'end')
  await until(() => {
    client.write('x') // fails as soon as the server has closed the connection
    return client.destroyed
  })
})
