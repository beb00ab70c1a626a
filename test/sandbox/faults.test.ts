import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import express from 'express'
import { type FaultRule, InvalidFaultRule } from '../../src/sandbox/fault-rules.ts'
import { createFaults, seededRandom } from '../../src/sandbox/faults.ts'
import { createRequestLog } from '../../src/sandbox/request-log.ts'

/** The running timers. */
const timers = new Set<NodeJS.Timeout>()
const faults = createFaults({
  random: seededRandom(7),
  startTimer(ring, ms) {
    const timer = setTimeout(ring, ms)
    timers.add(timer)
    return () => {
      clearTimeout(timer)
      timers.delete(timer)
    }
  },
})
const requestLog = createRequestLog({ now: () => 1234, limit: 5 })
let reached = 0

const app = express()
app.use(requestLog.middleware())
app.use(express.json())
app.use(
  faults.middleware({
    rateLimited: (seconds) => ({
      status: 429,
      headers: { 'X-Retry': String(seconds) },
      body: { slow: 'down' },
    }),
  }),
)
app.use((_req, res) => {
  reached += 1
  res.json({ fine: true })
})
const server = createServer(app)
let origin: string

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  faults.clear()
  requestLog.clear()
  reached = 0
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
})

const get = (path = '/') => fetch(origin + path)

const INVALID_RULES: [rule: unknown, field: string][] = [
  [{ kind: 'explode' }, 'kind'],
  [{}, 'kind'],
  ['cut', 'rule'],
  [{ kind: 'delay' }, 'ms'],
  [{ kind: 'delay', ms: -1 }, 'ms'],
  [{ kind: 'status', status: 99 }, 'status'],
  [{ kind: 'status', status: 500, headers: { 'X-A': 7 } }, 'headers.X-A'],
  [{ kind: 'cut', path: 'no-slash' }, 'path'],
  [{ kind: 'cut', times: 0 }, 'times'],
  [{ kind: 'error-rate', share: 1.5 }, 'share'],
  [{ kind: 'huge', bytes: '1' }, 'bytes'],
  [{ kind: 'drip' }, 'everyMs'],
  [{ kind: 'cut', sometimes: true }, 'rule'],
]
test.each(INVALID_RULES)('an invalid rule is refused, and the field named: %j', async (rule, field) => {
  const add = () => faults.add(rule as FaultRule)
  expect(add).toThrow(InvalidFaultRule)
  expect(add).toThrow(new RegExp(`^invalid fault rule: (.*; )?${field.replace('.', '\\.')}: `))
  expect((await get()).status).toBe(200)
})

test('status: with body and headers, at most `times` times', async () => {
  faults.set({ kind: 'status', status: 503, body: { a: 1 }, headers: { 'Retry-After': '3' }, times: 2 })
  const answers = [await get(), await get(), await get()]
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 200])
  expect(answers[0]?.headers.get('retry-after')).toBe('3')
  expect(await answers[0]?.json()).toEqual({ a: 1 })
  expect(reached).toBe(1)
})

test('status: the body may be text or missing', async () => {
  faults.add({ kind: 'status', status: 500, body: 'oops', times: 1 })
  faults.add({ kind: 'status', status: 204, times: 1 })
  const [text, none] = [await get(), await get()]
  expect([text.headers.get('content-type'), await text.text()]).toEqual(['text/plain; charset=utf-8', 'oops'])
  expect([none.status, await none.text()]).toEqual([204, ''])
})

test('a rule may have a path and a method, and set() replaces all rules', async () => {
  faults.set([
    { kind: 'status', status: 500, path: '/api', method: 'post' },
    { kind: 'status', status: 501, path: '/login' },
  ])
  const post = await fetch(`${origin}/api/v1`, { method: 'POST' })
  expect([post.status, (await get('/api/v1')).status, (await get('/login?a=1')).status]).toEqual([
    500, 200, 501,
  ])
  faults.set({ kind: 'status', status: 502, path: '/api' })
  expect([(await get('/api')).status, (await get('/login')).status]).toEqual([502, 200])
})

test('rate-limited: the API’s own 429, or the rule’s', async () => {
  faults.add({ kind: 'rate-limited', retrySeconds: 9, times: 1 })
  faults.add({ kind: 'rate-limited', body: { other: true }, headers: { 'X-Own': '1' } })
  const [theirs, own] = [await get(), await get()]
  expect([theirs.status, theirs.headers.get('x-retry'), await theirs.json()]).toEqual([
    429,
    '9',
    { slow: 'down' },
  ])
  expect([own.headers.get('x-retry'), own.headers.get('x-own'), await own.json()]).toEqual([
    '1',
    '1',
    { other: true },
  ])
})

test.each([500, 200])('html: a page with status %i', async (status) => {
  faults.set({ kind: 'html', status })
  const answer = await get()
  expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8'])
  expect(await answer.text()).toContain('<!DOCTYPE html>')
})

test('wrong-type: JSON sent as text/plain', async () => {
  faults.set({ kind: 'wrong-type', body: { list: [] } })
  const answer = await get()
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(await answer.json()).toEqual({ list: [] })
})

test('cut: no byte is sent', async () => {
  faults.set({ kind: 'cut', times: 1 })
  expect(await rawAnswer('/')).toBe('')
  expect((await get()).status).toBe(200)
})

test('half: headers, and half of the declared body', async () => {
  faults.set({ kind: 'half', body: { list: 'x'.repeat(88) } })
  const [head = '', body = ''] = (await rawAnswer('/')).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(head).toContain('Content-Length: 99')
  expect(body).toHaveLength(49)
  await expect(get().then((answer) => answer.text())).rejects.toThrow()
})

test('wrong-length: fewer bytes than declared', async () => {
  faults.set({ kind: 'wrong-length', body: {}, extraBytes: 3 })
  const [head, body] = (await rawAnswer('/')).split('\r\n\r\n')
  expect(head).toContain('Content-Length: 5')
  expect(body).toBe('{}')
  await expect(get().then((answer) => answer.text())).rejects.toThrow()
})

test('huge: exactly that many bytes; the client may disconnect', async () => {
  faults.set({ kind: 'huge', bytes: 300_000 })
  const text = await (await get()).text()
  expect(text).toHaveLength(300_000)
  expect(JSON.parse(text)).toEqual({ list: [expect.stringMatching(/^x+$/)] })
  faults.set({ kind: 'huge', bytes: 1_000_000_000, times: 1 })
  const outgoing = request(origin, (incoming) => incoming.once('data', () => outgoing.destroy())).end()
  await once(outgoing, 'close')
  faults.clear()
  expect((await get()).status).toBe(200)
})

test('drip: one byte at a time, until the client disconnects', async () => {
  faults.set({ kind: 'drip', everyMs: 0, body: { a: 1 }, times: 1 })
  const answer = await get()
  let bytes = 0
  let chunks = 0
  for await (const chunk of answer.body ?? []) {
    bytes += (chunk as Uint8Array).length
    chunks += 1
  }
  expect(bytes).toBe(7)
  expect(chunks).toBeGreaterThan(1)

  faults.set({ kind: 'drip', everyMs: 3_600_000 })
  const outgoing = request(origin, (incoming) => incoming.once('data', () => outgoing.destroy())).end()
  const [socket] = (await once(server, 'connection')) as [NodeJS.EventEmitter]
  await once(socket, 'close')
  expect(timers.size).toBe(0)
})

test('delay: continues with the next rule, then with the route', async () => {
  faults.set([
    { kind: 'delay', ms: 1 },
    { kind: 'status', status: 503, times: 1 },
  ])
  expect([(await get()).status, (await get()).status]).toEqual([503, 200])
})

test('delay: if the client disconnects, the timer is cancelled, and the route is not reached', async () => {
  faults.set({ kind: 'delay', ms: 3_600_000 })
  const outgoing = request(origin).end()
  outgoing.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [NodeJS.EventEmitter]
  while (requestLog.entries.length === 0) await nextTurn()
  expect(timers.size).toBe(1)
  outgoing.destroy()
  await once(socket, 'close')
  await nextTurn()
  expect([timers.size, reached]).toEqual([0, 0])
})

test('hold: a held request is in the request log, and the rules apply after its release', async () => {
  const release = faults.hold({ times: 1 })
  faults.set({ kind: 'status', status: 503, times: 1 })
  let answered = false
  const first = get('/held').finally(() => {
    answered = true
  })
  while (requestLog.entries.length === 0) await nextTurn()
  expect((await get('/other')).status).toBe(503) // the rule applies to the first request that reaches it
  expect([answered, reached, requestLog.entries[0]?.path]).toEqual([false, 0, '/held'])
  release()
  expect((await first).status).toBe(200)
  expect((await get('/held')).status).toBe(200)
})

test('hold: a filter for path and method holds no other requests; clear() releases', async () => {
  faults.hold({ path: '/slow', method: 'POST' })
  expect([(await get('/slow')).status, (await get('/')).status]).toEqual([200, 200])
  const held = fetch(`${origin}/slow/one`, { method: 'POST' })
  while (requestLog.entries.length < 3) await nextTurn()
  expect(reached).toBe(2)
  faults.clear()
  expect((await held).status).toBe(200)
  expect((await fetch(`${origin}/slow`, { method: 'POST' })).status).toBe(200)
})

test('hold: if the client disconnects, the route is not reached', async () => {
  const release = faults.hold()
  const outgoing = request(origin).end()
  outgoing.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [NodeJS.EventEmitter]
  while (requestLog.entries.length === 0) await nextTurn()
  outgoing.destroy()
  await once(socket, 'close')
  release()
  await nextTurn()
  expect(reached).toBe(0)
})

test('error-rate: fails about that share of the requests, the same ones for the same seed', async () => {
  const run = async (seed: number) => {
    const own = createFaults({ random: seededRandom(seed) })
    own.set({ kind: 'error-rate', share: 0.3, status: 503 })
    const small = express().use(own.middleware(), (_req, res) => {
      res.json({})
    })
    const smallServer = createServer(small).listen(0, '127.0.0.1')
    await once(smallServer, 'listening')
    const url = `http://127.0.0.1:${(smallServer.address() as AddressInfo).port}/`
    const statuses: number[] = []
    for (let at = 0; at < 200; at += 1) {
      const answer = await fetch(url)
      await answer.text()
      statuses.push(answer.status)
    }
    smallServer.close()
    smallServer.closeAllConnections()
    return statuses
  }
  const [one, again, other] = [await run(1), await run(1), await run(2)]
  expect(again).toEqual(one)
  expect(other).not.toEqual(one)
  const failed = one.filter((status) => status === 503).length
  expect(failed).toBeGreaterThan(40)
  expect(failed).toBeLessThan(80)
})

test('error-rate: 0 never, 1 always', async () => {
  faults.set({ kind: 'error-rate', share: 0 })
  expect((await get()).status).toBe(200)
  faults.set({ kind: 'error-rate', share: 1 })
  expect((await get()).status).toBe(500)
})

test('the request log has the requests with their bodies, even if a fault responds', async () => {
  faults.set({ kind: 'status', status: 500 })
  await fetch(`${origin}/api/v1/authn?a=1&a=2&b=%20`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': '203.0.113.7' },
    body: '{"username":"amelia"}',
  })
  expect(requestLog.entries).toEqual([
    {
      at: 1234,
      method: 'POST',
      path: '/api/v1/authn',
      query: { a: ['1', '2'], b: ' ' },
      headers: expect.objectContaining({ 'x-forwarded-for': '203.0.113.7' }),
      body: { username: 'amelia' },
    },
  ])
})

test('the request log keeps only the last requests, and can be cleared', async () => {
  for (let index = 0; index < 7; index += 1) await get(`/${index}`)
  expect(requestLog.entries.map(({ path }) => path)).toEqual(['/2', '/3', '/4', '/5', '/6'])
  expect(requestLog.entries[0]?.body).toBeUndefined()
  requestLog.clear()
  expect(requestLog.entries).toEqual([])
})

/** All received bytes, until the server closes the connection. */
async function rawAnswer(path: string): Promise<string> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece
  })
  socket.write(`GET ${path} HTTP/1.1\r\nHost: sandbox\r\n\r\n`)
  await once(socket, 'close')
  return text
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
