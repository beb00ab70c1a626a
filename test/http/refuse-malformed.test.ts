import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { refuseMalformed } from '../../src/http/refuse-malformed.ts'
import { getRequestContext } from '../../src/http/request-context.ts'
import { bodyParser, type Route } from '../../src/http/routes.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { collectLog } from '../observability/collect-log.ts'
import { until } from '../support/until.ts'
import { keeper, rawExchange, serve } from './serve.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

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

  test('an unused connection is not logged as a request', async () => {
    const served = keep(await serve({ patience: HASTY }))
    expect(await rawExchange(served.port, '')).toMatch(/^HTTP\/1.1 408 /)
    expect(requestLines(served)).toEqual([])
    expect(await countedRequests(served)).toEqual([])
  })
})

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

  test('and has the error format "empty" gets no body', async () => {
    const served = keep(
      await serve({
        patience: HASTY,
        before: [
          (req, _res, next) => {
            getRequestContext(req).errorFormat = 'empty'
            next()
          },
          bodyParser(),
        ],
        routes: [ROUTE],
      }),
    )
    const received = await rawExchange(served.port, `${HEAD}Content-Length: 10\r\n\r\n{`)
    expect(received).toMatch(/^HTTP\/1.1 408 /)
    expect(received.split('\r\n\r\n')[1]).toBe('')
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

describe('the connection of a refused request', () => {
  let client: Socket
  let socket: Socket
  let received = ''
  let collected: ReturnType<typeof collectLog>
  let refuse: (error: Error) => void

  beforeEach(async () => {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
    keep(server)
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('it listens on TCP')
    client = connect({ port: address.port, host: '127.0.0.1', allowHalfOpen: true })
    received = ''
    collected = collectLog()
    const refuseAt = refuseMalformed({
      log: collected.log,
      metrics: createMetrics({ processMetrics: false }),
    })
    refuse = (error) => refuseAt(error, socket)
    client.on('data', (data: Buffer) => {
      received += data.toString()
    })
    client.on('error', () => undefined)
    client.write('nonsense')
    ;[socket] = (await once(server, 'connection')) as [Socket]
    await once(socket, 'data')
    keep({ close: () => socket.destroy() })
    keep({ close: () => client.destroy() })
  })
  afterEach(() => void jest.useRealTimers())

  test('is closed after a second if its client does not close it', async () => {
    jest.useFakeTimers()
    refuse(new Error('Parse Error'))
    await once(client, 'end')
    jest.advanceTimersByTime(999)
    expect(socket.destroyed).toBe(false)
    jest.advanceTimersByTime(1)
    expect(socket.destroyed).toBe(true)
    expect(received).toMatch(/^HTTP\/1\.1 400 /)
    expect(collected.lines()).toHaveLength(1)
  })

  test.each([
    ['that its client has reset', (error: Error) => Object.assign(error, { code: 'ECONNRESET' })],
    [
      'whose response has been sent',
      (error: Error) => {
        socket.end('HTTP/1.1 204 No Content\r\n\r\n')
        return error
      },
    ],
  ])('%s is closed at once; nothing is sent or logged', async (_, prepare) => {
    refuse(prepare(new Error('Parse Error')))
    expect(socket.destroyed).toBe(true)
    expect(collected.lines()).toEqual([])
    expect(received).not.toContain('400')
  })
})
