import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import { bodyParser } from '../../src/http/request-body.ts'
import {
  type BodyLimits,
  countBodies,
  createUnfinishedBodies,
  type UnfinishedBodies,
} from '../../src/http/unfinished-bodies.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { until } from '../support/until.ts'
import { keeper, serve } from './serve.ts'

/** Unfinished bodies of several addresses, over real connections. */

const { keep, closeAll } = keeper()
afterEach(closeAll)

async function harness(limits: BodyLimits) {
  const metrics = createMetrics({ processMetrics: false })
  const garbage = { noteFreed: () => undefined }
  const unfinished = createUnfinishedBodies({ limits, retryAfterSeconds: 7, garbage, metrics })
  const counted: number[] = []
  const waiting: IncomingMessage[] = []
  const bodies: UnfinishedBodies = {
    ...unfinished,
    add(body) {
      counted.push(body.bytes)
      unfinished.add(body)
    },
  }
  const { port } = keep(
    await serve({
      trusted: ['127.0.0.1/32'],
      before: [countBodies(bodies), bodyParser({ limitBytes: 65_536 })],
      routes: [
        { method: 'POST', path: '/', handle: (req, res) => void res.json(req.body) },
        { method: 'GET', path: '/waits', handle: (req) => void waiting.push(req) },
        {
          method: 'GET',
          path: '/answered',
          handle(req, res) {
            waiting.push(req)
            res.json({})
          },
        },
      ],
    }),
  )
  /** A connection that sends one part after the other. */
  async function open() {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    keep({ close: () => socket.destroy() })
    let heard = ''
    socket.on('data', (bytes: Buffer) => {
      heard += bytes.toString()
    })
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    return {
      send: (text: string) => socket.write(text),
      hangUp: () => socket.end(),
      isClosed: () => socket.closed,
      statuses: () => [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)),
    }
  }
  /** Sends an incomplete request and waits until it is counted. */
  async function hold(text: string) {
    const before = counted.length
    const connection = await open()
    connection.send(text)
    await until(() => counted.length > before)
    return connection
  }
  return { open, hold, counted, waiting, shed: async () => (await metrics.requestsShed.get()).values }
}

const head = (address: string, length: string, extra = '') =>
  `POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nContent-Type: application/json\r\n${extra}${length}\r\n\r\n`
const announced = (address: string, bytes: number) => `${head(address, `Content-Length: ${bytes}`)}{`
const chunked = (address: string, extra = '') => head(address, 'Transfer-Encoding: chunked', extra)
const HONEST = '198.51.100.7'
const HONEST_COOKIE = `Cookie: ${'x'.repeat(3000)}=1\r\n`

describe('five addresses use the whole capacity with small bodies:', () => {
  async function filled() {
    const limits = { total: { bodies: 1000, bytes: 20_000 }, perAddress: { bodies: 10, bytes: 1_000_000 } }
    const made = await harness(limits)
    for (let n = 0; n < 20; n++) await made.hold(announced(`192.0.2.${n % 5}`, 700))
    expect(await made.shed()).not.toEqual([])
    return made
  }
  const honestHead = head(HONEST, 'Content-Length: 9', HONEST_COOKIE)

  test('a larger body that arrives with its headers is accepted', async () => {
    const { open } = await filled()
    const honest = await open()
    honest.send(`${honestHead}{"a":"b"}`)
    await until(() => honest.statuses().length === 1)
    expect(honest.statuses()).toEqual([200])
  })

  test.each([
    ['announced', honestHead, '{"a":"b"}'],
    ['in chunks', head(HONEST, 'Transfer-Encoding: chunked', HONEST_COOKIE), '9\r\n{"a":"b"}\r\n0\r\n\r\n'],
  ])('a larger body that is %s and arrives in several parts is not evicted', async (_name, start, body) => {
    const { hold } = await filled()
    const honest = await hold(start)
    for (let n = 0; n < 20; n++) await hold(announced(`192.0.2.${n % 5}`, 700))
    honest.send(body.slice(0, 5))
    for (let n = 0; n < 20; n++) await hold(announced(`192.0.2.${n % 5}`, 700))
    honest.send(body.slice(5))
    await until(() => honest.statuses().length === 1)
    expect(honest.statuses()).toEqual([200])
  })
})

describe('a chunked body', () => {
  const ONE_BODY = { bodies: 1000, bytes: 20_000 }

  test('counts the bytes that have arrived, also on a reused connection', async () => {
    const { hold, shed, counted } = await harness({ total: ONE_BODY, perAddress: ONE_BODY })
    const used = await hold(announced(HONEST, 9))
    used.send('"a":"b"}')
    await until(() => used.statuses().length === 1)
    for (let n = 2; n < 5; n++) {
      used.send(`${chunked(HONEST)}5\r\n{"a":\r\n`)
      await until(() => counted.length === n)
      used.send('4\r\n"b"}\r\n0\r\n\r\n')
      await until(() => used.statuses().length === n)
    }
    expect(used.statuses()).toEqual([200, 200, 200, 200])
    expect(Math.max(...counted)).toBeLessThan(3000)
    expect(await shed()).toEqual([])
  })

  const TRAILERS = 'ab:\r\n'.repeat(200)
  test.each([
    ['with the headers', '', `2\r\n{}\r\n0\r\n${TRAILERS}`, ''],
    ['later', '', '2\r\n{}\r\n', `0\r\n${TRAILERS}`],
    ['after many short headers', 'a: b\r\n'.repeat(100), '2\r\n{}\r\n', `0\r\n${TRAILERS}`],
  ])('counts trailers that arrive %s', async (_name, headers, first, later) => {
    const { hold } = await harness({ total: ONE_BODY, perAddress: ONE_BODY })
    const others = await hold(announced('192.0.2.1', 100))
    const trailing = await hold(chunked('192.0.2.2', headers) + first)
    trailing.send(later)
    await until(() => trailing.statuses().length === 1)
    expect(trailing.statuses()).toEqual([503])
    expect(others.statuses()).toEqual([])
  })
})

const ahead = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.2\r\n\r\n`

describe('a body that is not read', () => {
  const LIMITS = { bodies: 1000, bytes: 20_000 }
  const SMALL_CHUNKS = '1\r\nx\r\n'.repeat(3000)
  const get = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.2\r\nTransfer-Encoding: chunked\r\n\r\n`

  test.each([
    ['of a pending GET', get('/waits')],
    ['of a GET whose response waits behind another one', ahead('/waits') + get('/answered')],
    [
      'of a request whose refusal waits behind another response',
      ahead('/waits') + chunked('192.0.2.2').replace('json', 'xml'),
    ],
  ])('%s counts, and its connection is closed when it is too large', async (_name, start) => {
    const { hold, shed } = await harness({ total: LIMITS, perAddress: LIMITS })
    const others = await hold(announced('192.0.2.1', 100))
    const discarded = await hold(start)
    expect(await shed()).toEqual([])
    discarded.send(SMALL_CHUNKS)
    await until(discarded.isClosed)
    expect(discarded.statuses()).toEqual([])
    expect(others.isClosed()).toBe(false)
  })

  test('counts only its headers if it has a Content-Length, because a proxy would treat a closed connection as an error', async () => {
    const { hold, shed, counted } = await harness({ total: LIMITS, perAddress: LIMITS })
    const start = get('/waits').replace('Transfer-Encoding: chunked', 'Content-Length: 65000')
    const connections = []
    for (let n = 0; n < 20; n++) connections.push(await hold(start + 'x'.repeat(1000)))
    expect(await shed()).toEqual([])
    expect(Math.max(...counted)).toBeLessThan(1000)
    expect(connections.filter(({ isClosed }) => isClosed())).toEqual([])
  })

  test('is not stored while its request is pending, nor are its trailers', async () => {
    const { open, waiting } = await harness({
      total: { bodies: 10, bytes: 10_000_000 },
      perAddress: { bodies: 10, bytes: 10_000_000 },
    })
    const connection = await open()
    connection.send(get('/waits') + SMALL_CHUNKS)
    await until(() => waiting.length === 1)
    connection.send(`${SMALL_CHUNKS}0\r\n${'ab:\r\n'.repeat(2000)}\r\n`)
    await until(() => waiting[0]?.readableEnded === true)
    expect(waiting.map(({ rawTrailers, readableLength }) => [rawTrailers.length, readableLength])).toEqual([
      [0, 0],
    ])
  })
})

test('bodies leave no listeners on their connection', async () => {
  const generous = { bodies: 10, bytes: 1_000_000 }
  const { open, waiting } = await harness({ total: generous, perAddress: generous })
  const connection = await open()
  const inChunks = ahead('/answered').replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n')
  const listeners: number[][] = []
  for (let n = 1; n <= 3; n++) {
    connection.send(`${inChunks}2\r\n{}\r\n0\r\n\r\n`)
    await until(() => connection.statuses().length === n && waiting.every((req) => req.readableEnded))
    const { socket } = waiting.at(-1) as IncomingMessage
    listeners.push([socket.listenerCount('data'), socket.listenerCount('close')])
  }
  expect(listeners[2]).toEqual(listeners[0])
})

describe('a body that is incomplete when the response is sent', () => {
  const ONE = { bodies: 1, bytes: 1_000_000 }
  const refused = (body: string) => body.replace('json', 'xml')
  async function answered(body: string) {
    const made = await harness({ total: ONE, perAddress: ONE })
    const connection = await made.open()
    connection.send(refused(body))
    await until(() => connection.statuses().length === 1)
    return { ...made, connection }
  }

  test('does not count any more if it has a Content-Length', async () => {
    const { hold, shed, connection } = await answered(announced(HONEST, 10))
    await hold(announced(HONEST, 10))
    expect(await shed()).toEqual([])
    expect(connection.isClosed()).toBe(false)
  })

  test('counts until it is complete if it is chunked', async () => {
    const { hold, shed, connection } = await answered(chunked(HONEST))
    connection.send(`0\r\n\r\n${ahead('/answered')}`)
    await until(() => connection.statuses().length === 2)
    await hold(announced(HONEST, 10))
    expect(await shed()).toEqual([])
  })

  test('counts until its client disconnects if it is chunked', async () => {
    const { hold, shed, connection } = await answered(chunked(HONEST))
    connection.hangUp()
    await until(connection.isClosed)
    await hold(announced(HONEST, 10))
    expect(await shed()).toEqual([])
  })

  test('counts without its headers if it is chunked', async () => {
    const limit = { bodies: 10, bytes: 6000 }
    const { hold, open, shed } = await harness({ total: limit, perAddress: limit })
    const connection = await open()
    connection.send(refused(head(HONEST, 'Transfer-Encoding: chunked', HONEST_COOKIE)))
    await until(() => connection.statuses().length === 1)
    await hold(head(HONEST, 'Content-Length: 10', HONEST_COOKIE))
    expect(await shed()).toEqual([])
  })

  test('counts the trailers after the discarded part', async () => {
    const limit = { bodies: 10, bytes: 20_000 }
    const { hold, open } = await harness({ total: limit, perAddress: limit })
    await hold(announced('192.0.2.1', 100))
    const connection = await open()
    connection.send(ahead('/answered').replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n'))
    await until(() => connection.statuses().length === 1)
    connection.send(`7d0\r\n${'x'.repeat(2000)}\r\n0\r\n${'ab:\r\n'.repeat(200)}`)
    await until(connection.isClosed)
  })

  test('is closed when a limit is exceeded if it is chunked', async () => {
    const { hold, connection } = await answered(chunked(HONEST))
    const other = await hold(announced(HONEST, 10))
    await until(connection.isClosed)
    expect(other.isClosed()).toBe(false)
  })
})

test('a refused chunked body may have any length: the discarded part does not count, but its trailers do', async () => {
  const limit = { bodies: 10, bytes: 20_000 }
  const { open, hold, shed } = await harness({ total: limit, perAddress: limit })
  const refused = chunked(HONEST).replace('json', 'xml')
  const chunk = `fa00\r\n${'x'.repeat(64_000)}\r\n`
  const clients = await Promise.all([open(), open(), open()])
  for (const { send } of clients) send(refused)
  await until(() => clients.every(({ statuses }) => statuses().length === 1))
  for (const { send } of clients) send(chunk + chunk)
  for (const { send } of clients) send(`0\r\n\r\n${ahead('/answered')}`)
  await until(() => clients.every(({ statuses, isClosed }) => statuses().length === 2 || isClosed()))
  expect(clients.map(({ statuses }) => statuses())).toEqual(Array(3).fill([415, 200]))
  expect(await shed()).toEqual([])

  const others = await hold(announced('192.0.2.1', 100))
  const trailing = await hold(refused)
  trailing.send(`0\r\n${'ab:\r\n'.repeat(200)}`)
  await until(trailing.isClosed)
  expect(others.isClosed()).toBe(false)
})

test('a request whose response waits behind another one keeps neither headers nor body in memory', async () => {
  const { open, waiting } = await harness({
    total: { bodies: 10, bytes: 100_000 },
    perAddress: { bodies: 10, bytes: 100_000 },
  })
  const connection = await open()
  connection.send(ahead('/waits') + ahead('/answered'))
  await until(() => waiting.length === 2)
  expect(waiting.map(({ rawHeaders, headers }) => [rawHeaders.length, Object.keys(headers).length])).toEqual([
    [4, 2],
    [0, 0],
  ])
  expect(connection.statuses()).toEqual([])
})
