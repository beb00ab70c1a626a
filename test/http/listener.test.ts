import { Agent, type RequestListener, request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setImmediate as nextCheck } from 'node:timers/promises'
import { afterEach, describe, expect, jest, test } from '@jest/globals'
import { createListener, type ListenerOptions } from '../../src/http/listener.ts'
import { until } from '../support/until.ts'
import { askPort, keeper, PATIENCE, rawExchange } from './serve.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

async function listening(handle: RequestListener, options: Partial<ListenerOptions> = {}) {
  const listener = createListener(handle, { ...PATIENCE, ...options })
  const port = await listener.listen(0, '127.0.0.1')
  keep({ close: () => listener.drain(0) })
  return { listener, port }
}

/** A server whose responses wait until the test releases them. */
async function slow() {
  const waiting: ServerResponse[] = []
  const served = await listening((_req, res) => waiting.push(res))
  return {
    ...served,
    waiting,
    release() {
      for (const res of waiting.splice(0)) res.end('done')
    },
  }
}

/** A connection that records the received data and when it was closed. */
function connection(port: number, { reads = true } = {}) {
  const state = { received: '', closed: false }
  const socket: Socket = connect(port, '127.0.0.1')
  const keepIt = (bytes: Buffer) => {
    state.received += bytes.toString()
  }
  if (reads) socket.on('data', keepIt)
  socket.on('error', () => undefined)
  socket.on('close', () => {
    state.closed = true
  })
  keep({ close: () => void socket.destroy() })
  return {
    state,
    write: (text: string) => socket.write(text),
    get: (path = '/') => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`),
    leave: () => socket.resetAndDestroy(),
  }
}

test('disableKeepAlive: new connections are accepted, and every response has Connection: close', async () => {
  const { listener, port, waiting, release } = await slow()
  const running = askPort(port, {})
  await until(() => waiting.length === 1)
  listener.disableKeepAlive()
  const late = askPort(port, {})
  await until(() => waiting.length === 2)
  release()
  const answers = await Promise.all([running, late])
  expect(answers.map(({ status, headers }) => [status, headers.connection])).toEqual([
    [200, 'close'],
    [200, 'close'],
  ])
})

describe('a client that pipelines', () => {
  /** The two responses of the connection, in the order of the requests. */
  async function ahead(...requests: readonly ('/1' | '/2' | 'disableKeepAlive')[]) {
    const answers = new Map<string, ServerResponse>()
    const { listener, port } = await listening((req, res) => answers.set(req.url ?? '', res))
    const client = connection(port)
    for (const what of requests) {
      if (what === 'disableKeepAlive') {
        listener.disableKeepAlive()
      } else {
        client.get(what)
        await until(() => answers.has(what))
      }
    }
    const end = (path: '/1' | '/2') => answers.get(path)?.end(`body of ${path}\n`)
    return { client, listener, answers, end }
  }

  test.each([
    [
      ['/1', '/2', 'disableKeepAlive'],
      ['/1', '/2'],
    ],
    [
      ['/1', '/2', 'disableKeepAlive'],
      ['/2', '/1'],
    ],
    [
      ['/1', 'disableKeepAlive', '/2'],
      ['/1', '/2'],
    ],
    [
      ['/1', 'disableKeepAlive', '/2'],
      ['/2', '/1'],
    ],
    [
      ['disableKeepAlive', '/1', '/2'],
      ['/1', '/2'],
    ],
  ] as const)('%j, ended as %j: has both answers, and only the last says to go', async (asked, ended) => {
    const { client, end } = await ahead(...asked)
    for (const path of ended) end(path)
    await until(() => client.state.closed)
    const said = client.state.received.match(/^Connection: close$|body of \/\d$/gim)
    expect(said).toEqual(['body of /1', 'Connection: close', 'body of /2'])
  })

  test('and disconnects: every response closes, once', async () => {
    const { client, answers, end } = await ahead('/1', '/2')
    const closed: string[] = []
    for (const [path, res] of answers) res.on('close', () => closed.push(path))
    client.leave()
    await until(() => closed.length === 2)
    end('/2')
    end('/1') // the client is gone
    await new Promise((resolve) => setImmediate(resolve))
    expect(closed.sort()).toEqual(['/1', '/2'])
  })
})

describe('more than eight pending requests', () => {
  const requests = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, n) => `GET /${from + n} HTTP/1.1\r\nHost: x\r\n\r\n`).join('')

  async function counting() {
    const seen: string[] = []
    const closed: string[] = []
    const waiting: ServerResponse[] = []
    const { port } = await listening((req, res) => {
      seen.push(req.url ?? '')
      res.once('close', () => closed.push(req.url ?? ''))
      waiting.push(res)
    })
    return { client: connection(port), seen, closed, waiting }
  }
  const EIGHT = ['/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8']

  test.each([
    ['in one packet', [requests(1, 9)]],
    ['a thousand in one packet', [requests(1, 1000)]],
    ['one after the other', [requests(1, 8), requests(9, 9)]],
    ['with one that has an unsupported Expect', [`${requests(1, 8)}GET / HTTP/1.1\r\nExpect: tea\r\n\r\n`]],
  ])(
    '%s: the connection is closed, requests over the limit are not handled, and all other responses close',
    async (_, pieces) => {
      const { client, seen, closed } = await counting()
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await until(() => seen.length === 8)
        client.write(piece)
      }
      await until(() => client.state.closed && closed.length === 8)
      expect([seen, closed.toSorted(), client.state.received]).toEqual([EIGHT, EIGHT, ''])
    },
  )

  test('refused requests count too', async () => {
    const { client, seen, closed, waiting } = await counting()
    client.write(requests(1, 1))
    client.write('GET / HTTP/1.1\r\nExpect: tea\r\n\r\n'.repeat(8))
    await until(() => client.state.closed && closed.length === 1)
    expect([seen, waiting.length, client.state.received]).toEqual([['/1'], 1, ''])
  })

  test('eight are served, and eight more after their responses', async () => {
    const { client, seen, waiting } = await counting()
    for (const round of [1, 2, 3]) {
      client.write(requests(1, 8))
      await until(() => waiting.length === 8)
      for (const res of waiting.splice(0)) res.end('done')
      await until(() => client.state.received.split('done').length - 1 === 8 * round)
    }
    expect(seen).toEqual([...EIGHT, ...EIGHT, ...EIGHT])
    expect(client.state.closed).toBe(false)
  })
})

describe('a client that does not read', () => {
  const LARGE = Buffer.alloc(64 * 1024 * 1024, 'x') // more than the socket buffers hold

  /** `/large` exceeds the socket buffers, `/held` waits until the test releases it. */
  async function withShortPatience() {
    const held: ServerResponse[] = []
    const closed: string[] = []
    const { port } = await listening(
      (req, res) => {
        res.once('close', () => closed.push(req.url ?? ''))
        if (req.url === '/held') held.push(res)
        else res.end(req.url === '/large' ? LARGE : 'done')
      },
      { writeTimeoutMs: 50 },
    )
    /** Three times the time after which a client that does not read is disconnected. */
    const patienceEnds = async () => {
      for (const _ of [1, 2, 3]) {
        const before = closed.length
        connection(port, { reads: false }).get('/large')
        await until(() => closed.length > before)
      }
    }
    return { port, held, closed, patienceEnds }
  }

  test('is disconnected with all its responses', async () => {
    const { port, closed } = await withShortPatience()
    const client = connection(port, { reads: false })
    for (const path of ['/large', '/2', '/3']) client.get(path)
    await until(() => closed.length === 3)
    expect(closed.toSorted()).toEqual(['/2', '/3', '/large'])
  })

  test('is not disconnected while its response is pending, however long that takes', async () => {
    const { port, held, patienceEnds } = await withShortPatience()
    const client = connection(port)
    client.get('/held')
    await until(() => held.length === 1)
    await patienceEnds()
    held[0]?.end('done at last')
    await until(() => client.state.received.endsWith('done at last'))
  })

  test('and sends nothing is not disconnected before keepAliveTimeoutMs', async () => {
    const { port, patienceEnds } = await withShortPatience()
    const client = connection(port)
    client.get('/1')
    await until(() => client.state.received.endsWith('done'))
    await patienceEnds()
    client.get('/2')
    await until(() => client.state.received.split('done').length === 3)
  })
})

describe('drain', () => {
  const LONGER_THAN_A_TEST_MS = 600_000

  test('new connections are refused while a running request finishes', async () => {
    const { listener, port, waiting, release } = await slow()
    const running = askPort(port, {})
    await until(() => waiting.length === 1)
    const drained = listener.drain(10_000)
    await nextCheck() // accepts the connections that have arrived
    await expect(askPort(port, {})).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    release()
    const answer = await running
    expect([answer.status, answer.text, answer.headers.connection]).toEqual([200, 'done', 'close'])
    await drained
  })

  test('connections that the system has queued are served, however many', async () => {
    const { listener, port } = await listening((_req, res) => res.end('done'))
    const waiting = Array.from({ length: 50 }, () => connection(port))
    for (const one of waiting) one.get()
    await new Promise<void>((resolve) => process.nextTick(resolve)) // all sockets are connecting now
    await listener.drain(LONGER_THAN_A_TEST_MS)
    await until(() => waiting.every(({ state }) => state.closed))
    expect(waiting.filter(({ state }) => !state.received.endsWith('done'))).toEqual([])
  })

  test('a connection with a running request gets Connection: close and does not delay the drain', async () => {
    const { listener, port, waiting, release } = await slow()
    const kept = connection(port)
    kept.get()
    await until(() => waiting.length === 1)
    const drained = listener.drain(LONGER_THAN_A_TEST_MS)
    release()
    await drained
    await until(() => kept.state.closed)
    expect(kept.state.received).toMatch(/Connection: close/i)
  })

  test('a request that arrives on an idle connection during the drain is served with Connection: close', async () => {
    const { listener, port } = await listening((_req, res) => res.end('done'))
    const kept = connection(port)
    kept.get('/1')
    await until(() => kept.state.received.includes('done'))
    const drained = listener.drain(10_000)
    kept.get('/2')
    await drained
    await until(() => kept.state.closed)
    expect(kept.state.received.match(/HTTP\/1\.1 200 OK/g)?.length).toBe(2)
    expect(kept.state.received).toMatch(/Connection: close/i)
  })

  test('idle connections are closed long before the grace period ends', async () => {
    const { listener, port } = await listening((_req, res) => res.end('x'))
    const agent = new Agent({ keepAlive: true })
    keep({ close: () => agent.destroy() })
    await new Promise<void>((resolve, reject) => {
      request({ port, host: '127.0.0.1', agent }, (res) => res.resume().on('end', resolve))
        .on('error', reject)
        .end()
    })
    await listener.drain(LONGER_THAN_A_TEST_MS)
  })

  test('idle connections stay open while requests arrive on others, and are closed when none arrives for a while', async () => {
    const { listener, port } = await listening((_req, res) => res.end('x'))
    const answers = ({ state }: ReturnType<typeof connection>) => state.received.split('200 OK').length - 1
    const [busy, idle] = [connection(port), connection(port)]
    const unused = connection(port)
    for (const kept of [busy, idle, unused]) kept.get()
    await until(() => [busy, idle, unused].every((kept) => answers(kept) === 1))
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'Date'] })
    try {
      const drained = listener.drain(LONGER_THAN_A_TEST_MS)
      await nextCheck()
      for (const kept of [busy, idle]) {
        jest.advanceTimersByTime(900)
        await nextCheck()
        kept.get()
        await until(() => answers(kept) === 2, { timeoutMs: 10_000 })
      }
      jest.advanceTimersByTime(1100)
      await drained
    } finally {
      jest.useRealTimers()
    }
    await until(() => unused.state.closed)
    expect(answers(unused)).toBe(1)
  })

  test('a connection is closed even if the headers of its response were already sent', async () => {
    const { listener, port, waiting, release } = await slow()
    const busy = connection(port)
    busy.get()
    await until(() => waiting.length === 1)
    waiting[0]?.writeHead(200, { 'Content-Length': 4 }).flushHeaders()
    const drained = listener.drain(LONGER_THAN_A_TEST_MS)
    release()
    await drained
    await until(() => busy.state.closed)
    expect(busy.state.received).toMatch(/done$/)
  })

  test('a second request on a busy connection is served with Connection: close', async () => {
    const { listener, port, waiting, release } = await slow()
    const busy = connection(port)
    busy.get('/1')
    await until(() => waiting.length === 1)
    waiting[0]?.writeHead(200, { 'Content-Length': 4 }).flushHeaders()
    const drained = listener.drain(10_000)
    busy.get('/2')
    await until(() => waiting.length === 2)
    release()
    await drained
    await until(() => busy.state.closed)
    expect(busy.state.received.match(/HTTP\/1\.1 200 OK/g)?.length).toBe(2)
    expect(busy.state.received).toMatch(/Connection: close/i)
  })

  test('a request that runs longer than the grace period is aborted', async () => {
    const { listener, port, waiting } = await slow()
    const running = askPort(port, {})
    running.catch(() => undefined)
    await until(() => waiting.length === 1)
    await listener.drain(100)
    await expect(running).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('a drain of a listener that never listened, and a second drain, end', async () => {
    const listener = createListener(() => undefined, PATIENCE)
    await listener.drain(1000)
    const { listener: other } = await listening(() => undefined)
    await other.drain(1000)
    await other.drain(1000)
  })
})

describe('a request whose response is sent before its body is complete', () => {
  const NEVER = { requestTimeoutMs: 3_600_000, keepAliveTimeoutMs: 3_600_000, writeTimeoutMs: 3_600_000 }
  const UNFINISHED = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{`
  const answers = ({ state }: ReturnType<typeof connection>) => state.received.split('refused').length - 1

  test('the rest of the body is read, also for many requests, and the connection serves the next request', async () => {
    const { port } = await listening((_req, res) => res.end('refused'), NEVER)
    const clients = Array.from({ length: 100 }, () => connection(port))
    for (const { write } of clients) write(UNFINISHED)
    await until(() => clients.every((client) => answers(client) === 1))
    for (const { write } of clients) write('         GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => clients.every((client) => answers(client) === 2), { timeoutMs: 10_000 })
    expect(clients.filter(({ state }) => state.closed)).toEqual([])
  })

  test('the connection is closed soon if the body stays incomplete, also without a request timeout', async () => {
    const { port } = await listening((_req, res) => res.end('refused'), NEVER)
    const client = connection(port)
    client.write(UNFINISHED)
    await until(() => client.state.closed)
    expect(client.state.received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  })
})

describe('limits', () => {
  test('on the time for headers', async () => {
    const { port } = await listening(() => undefined, {
      headersTimeoutMs: 100,
      connectionsCheckIntervalMs: 50,
    })
    expect(await rawExchange(port, 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow')).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('on the time for the whole request', async () => {
    const { port } = await listening((req) => void req.resume(), {
      headersTimeoutMs: 100,
      requestTimeoutMs: 200,
      connectionsCheckIntervalMs: 50,
    })
    const answer = await rawExchange(port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
    expect(answer === '' || answer.startsWith('HTTP/1.1 408 ')).toBe(true)
  })

  test('on the size of headers', async () => {
    const { port } = await listening((_req, res) => res.end(), { maxHeaderBytes: 2048 })
    const answer = await rawExchange(port, `GET / HTTP/1.1\r\nHost: x\r\nCookie: ${'a'.repeat(5000)}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
  })

  test('on the time of an idle connection', async () => {
    const { port } = await listening((_req, res) => res.end('x'), { keepAliveTimeoutMs: 50 })
    expect(await rawExchange(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  })
})

test('a port in use rejects with the reason', async () => {
  const { port } = await listening(() => undefined)
  const second = createListener(() => undefined, PATIENCE)
  await expect(second.listen(port, '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' })
})
