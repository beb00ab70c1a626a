import { Agent, type RequestListener, request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
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

/** A server whose answers wait until they are let go. */
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

/** A connection that keeps what it received and knows when it was closed. */
function connection(port: number) {
  const state = { received: '', closed: false }
  const socket: Socket = connect(port, '127.0.0.1')
  socket.on('data', (bytes) => {
    state.received += bytes.toString()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    state.closed = true
  })
  keep({ close: () => void socket.destroy() })
  return {
    state,
    get: (path = '/') => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`),
    leave: () => socket.resetAndDestroy(),
  }
}

test('retired: new connections are taken still, and every answer says to come back by another', async () => {
  const { listener, port, waiting, release } = await slow()
  const running = askPort(port, {})
  await until(() => waiting.length === 1)
  listener.retire()
  const late = askPort(port, {})
  await until(() => waiting.length === 2)
  release()
  const answers = await Promise.all([running, late])
  expect(answers.map(({ status, headers }) => [status, headers.connection])).toEqual([
    [200, 'close'],
    [200, 'close'],
  ])
})

describe('a client that sends ahead', () => {
  /** The connection's two answers, in the order in which they were asked for. */
  async function ahead(...requests: readonly ('/1' | '/2' | 'retire')[]) {
    const answers = new Map<string, ServerResponse>()
    const { listener, port } = await listening((req, res) => answers.set(req.url ?? '', res))
    const client = connection(port)
    for (const what of requests) {
      if (what === 'retire') {
        listener.retire()
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
      ['/1', '/2', 'retire'],
      ['/1', '/2'],
    ],
    [
      ['/1', '/2', 'retire'],
      ['/2', '/1'],
    ],
    [
      ['/1', 'retire', '/2'],
      ['/1', '/2'],
    ],
    [
      ['/1', 'retire', '/2'],
      ['/2', '/1'],
    ],
    [
      ['retire', '/1', '/2'],
      ['/1', '/2'],
    ],
  ] as const)('%j, ended as %j: has both answers, and only the last says to go', async (asked, ended) => {
    const { client, end } = await ahead(...asked)
    for (const path of ended) end(path)
    await until(() => client.state.closed)
    const said = client.state.received.match(/^Connection: close$|body of \/\d$/gim)
    expect(said).toEqual(['body of /1', 'Connection: close', 'body of /2'])
  })

  test('and goes away: every answer closes, once', async () => {
    const { client, answers, end } = await ahead('/1', '/2')
    const closed: string[] = []
    for (const [path, res] of answers) res.on('close', () => closed.push(path))
    client.leave()
    await until(() => closed.length === 2)
    end('/2')
    end('/1') // they go nowhere
    await new Promise((resolve) => setImmediate(resolve))
    expect(closed.sort()).toEqual(['/1', '/2'])
  })
})

describe('drain', () => {
  test('a new connection is refused while a running request is finished', async () => {
    const { listener, port, waiting, release } = await slow()
    const running = askPort(port, {})
    await until(() => waiting.length === 1)
    const drained = listener.drain(10_000)
    await expect(askPort(port, {})).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    release()
    const answer = await running
    expect([answer.status, answer.text, answer.headers.connection]).toEqual([200, 'done', 'close'])
    await drained
  })

  test('a kept connection whose request was running is told to close, and does not hold the drain up', async () => {
    const { listener, port, waiting, release } = await slow()
    const kept = connection(port)
    kept.get()
    await until(() => waiting.length === 1)
    const startedAt = performance.now()
    const drained = listener.drain(10_000)
    release()
    await drained
    expect(performance.now() - startedAt).toBeLessThan(5000)
    await until(() => kept.state.closed)
    expect(kept.state.received).toMatch(/Connection: close/i)
  })

  test('a request that arrives on an idle connection just after the last call is answered, with the word to go', async () => {
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

  test('idle connections end, long before the grace does', async () => {
    const { listener, port } = await listening((_req, res) => res.end('x'))
    const agent = new Agent({ keepAlive: true })
    keep({ close: () => agent.destroy() })
    await new Promise<void>((resolve, reject) => {
      request({ port, host: '127.0.0.1', agent }, (res) => res.resume().on('end', resolve))
        .on('error', reject)
        .end()
    })
    const startedAt = performance.now()
    await listener.drain(10_000)
    expect(performance.now() - startedAt).toBeLessThan(5000)
  })

  test('an answer whose headers were out already can not say it any more, and its connection ends all the same', async () => {
    const { listener, port, waiting, release } = await slow()
    const busy = connection(port)
    busy.get()
    await until(() => waiting.length === 1)
    waiting[0]?.writeHead(200, { 'Content-Length': 4 }).flushHeaders()
    const startedAt = performance.now()
    const drained = listener.drain(10_000)
    release()
    await drained
    expect(performance.now() - startedAt).toBeLessThan(5000)
    await until(() => busy.state.closed)
    expect(busy.state.received).toMatch(/done$/)
  })

  test('a second request on a connection that is still busy is answered, with the word to go', async () => {
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

  test('what runs longer than the grace is cut', async () => {
    const { listener, port, waiting } = await slow()
    const running = askPort(port, {})
    running.catch(() => undefined)
    await until(() => waiting.length === 1)
    await listener.drain(100)
    await expect(running).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('of a listener that never listened, and a second drain, end as well', async () => {
    const listener = createListener(() => undefined, PATIENCE)
    await listener.drain(1000)
    const { listener: other } = await listening(() => undefined)
    await other.drain(1000)
    await other.drain(1000)
  })
})

describe('patience is bounded', () => {
  test('for headers', async () => {
    const { port } = await listening(() => undefined, {
      headersTimeoutMs: 100,
      connectionsCheckIntervalMs: 50,
    })
    expect(await rawExchange(port, 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow')).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('for the whole request', async () => {
    const { port } = await listening((req) => void req.resume(), {
      headersTimeoutMs: 100,
      requestTimeoutMs: 200,
      connectionsCheckIntervalMs: 50,
    })
    const answer = await rawExchange(port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
    expect(answer === '' || answer.startsWith('HTTP/1.1 408 ')).toBe(true)
  })

  test('for the size of headers', async () => {
    const { port } = await listening((_req, res) => res.end(), { maxHeaderBytes: 2048 })
    const answer = await rawExchange(port, `GET / HTTP/1.1\r\nHost: x\r\nCookie: ${'a'.repeat(5000)}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
  })

  test('for an idle connection', async () => {
    const { port } = await listening((_req, res) => res.end('x'), { keepAliveTimeoutMs: 50 })
    expect(await rawExchange(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  })
})

test('a port that is taken rejects, and says so', async () => {
  const { port } = await listening(() => undefined)
  const second = createListener(() => undefined, PATIENCE)
  await expect(second.listen(port, '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' })
})
