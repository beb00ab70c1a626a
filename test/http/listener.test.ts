import type { RequestListener, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from '@jest/globals'
import { createListener, type ListenerOptions } from '../../src/http/listener.ts'
import type { Telemetry } from '../../src/http/request-context.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { collectLog } from '../observability/collect-log.ts'
import { askPort, rawExchange } from '../support/ask-port.ts'
import { useKeeper } from '../support/keeper.ts'
import { until } from '../support/until.ts'
import { PATIENCE } from './serve.ts'

const keep = useKeeper()

async function listening(
  handle: RequestListener,
  options: Partial<ListenerOptions> = {},
  telemetry?: Telemetry,
) {
  const listener = createListener(handle, { ...PATIENCE, ...options }, telemetry)
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
    get: (path = '/') => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`),
    send: (request: string) => socket.write(request),
    leave: () => socket.resetAndDestroy(),
  }
}

test('a connection whose client does not read its response is closed', async () => {
  const LARGE = Buffer.alloc(64 * 1024 * 1024, 'x') // more than the socket buffers hold
  let closed = false
  const { port } = await listening(
    (_req, res) => {
      res.once('close', () => {
        closed = true
      })
      res.end(LARGE)
    },
    { inactivityTimeoutMs: 50 },
  )
  // on a busy machine, the first connections may be closed before their request arrives
  const ask = () => {
    connection(port, { reads: false }).get()
    return closed
  }
  await until(ask, { everyMs: 500 })
})

test('connections above the maximum are closed and counted', async () => {
  const metrics = createMetrics()
  const { port } = await listening(
    (_req, res) => res.end('done'),
    { maxConnections: 2 },
    { log: collectLog().log, metrics },
  )
  const accepted = [connection(port), connection(port)]
  for (const { get } of accepted) get()
  await until(() => accepted.every(({ state }) => state.received.endsWith('done')))
  const third = connection(port)
  await until(() => third.state.closed)
  expect((await metrics.requestsShed.get()).values).toMatchObject([
    { labels: { reason: 'connections' }, value: 1 },
  ])
  accepted[0]?.leave()
  await until(async () => (await askPort(port, {}).catch(() => undefined))?.status === 200)
})

describe('drain', () => {
  const LONGER_THAN_A_TEST_MS = 600_000

  test('during the lead time, new connections are accepted, and every response has Connection: close', async () => {
    const { listener, port, waiting, release } = await slow()
    const kept = connection(port)
    kept.get('/1')
    await until(() => waiting.length === 1)
    release()
    await until(() => kept.state.received.endsWith('done'))
    const drained = listener.drain(0, LONGER_THAN_A_TEST_MS)
    drained.catch(() => undefined) // the test does not wait for its end
    kept.get('/2')
    const late = askPort(port, {})
    await until(() => waiting.length === 2)
    release()
    expect((await late).headers.connection).toBe('close')
    await until(() => kept.state.closed)
    expect(kept.state.received.match(/^Connection: [\w-]+$/gm)).toEqual([
      'Connection: keep-alive',
      'Connection: close',
    ])
  })

  test('after it, connections are refused, idle ones are closed, and running requests finish; then theirs are closed too', async () => {
    const { listener, port, waiting, release } = await slow()
    const idle = connection(port)
    idle.get()
    await until(() => waiting.length === 1)
    release()
    await until(() => idle.state.received.endsWith('done'))
    const running = connection(port)
    running.get()
    await until(() => waiting.length === 1)
    const drained = listener.drain(LONGER_THAN_A_TEST_MS, 1)
    await until(() => idle.state.closed)
    await expect(askPort(port, {})).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    release()
    await drained
    await until(() => running.state.closed)
    expect(running.state.received).toMatch(/^HTTP\/1\.1 200 .*keep-alive.*done$/s)
  })

  test('connections and requests that wait in the system at the end of the lead time are answered', async () => {
    const { listener, port } = await listening((_req, res) => res.end('done'))
    const idle = Array.from({ length: 10 }, () => connection(port))
    for (const { get } of idle) get()
    await until(() => idle.every(({ state }) => state.received.endsWith('done')))
    for (const { state } of idle) state.received = ''
    const drained = listener.drain(LONGER_THAN_A_TEST_MS, 1)
    const busyUntil = performance.now() + 20
    const waiting = [...idle, ...Array.from({ length: 20 }, () => connection(port))]
    for (const { get } of waiting) get()
    await Promise.resolve() // connections are opened now, and nothing is accepted yet
    while (performance.now() < busyUntil); // as in a busy broker: the lead time ends meanwhile
    await drained
    await until(() => waiting.every(({ state }) => state.closed))
    expect(waiting.filter(({ state }) => !state.received.endsWith('done'))).toEqual([])
  })

  test('a request that runs longer than the grace period is aborted', async () => {
    const { listener, port, waiting } = await slow()
    const running = askPort(port, {})
    running.catch(() => undefined)
    await until(() => waiting.length === 1)
    await listener.drain(100)
    await expect(running).rejects.toMatchObject({ code: 'ECONNRESET' })
  })
})

test('an idle connection is closed after its time', async () => {
  const { port } = await listening((_req, res) => res.end('x'), { keepAliveTimeoutMs: 50 })
  expect(await rawExchange(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
})

test('an idle connection does not keep its last request in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const responses: WeakRef<ServerResponse>[] = []
  const { port } = await listening((req, res) => {
    responses.push(new WeakRef(res))
    req.resume().once('end', () => res.end('done'))
  })
  for (const request of ['GET / HTTP/1.1\r\n\r\n', 'POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx']) {
    const { state, send } = connection(port)
    send(request)
    await until(() => state.received.endsWith('done'))
  }
  await until(() => {
    collectGarbage()
    return responses.every((response) => response.deref() === undefined)
  })
})
