import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { createTracing } from '../../src/observability/otel-tracing.ts'
import { parseTraceparent, type Tracing } from '../../src/observability/tracing.ts'
import { startTraceCollector, type TraceCollector } from '../support/trace-collector.ts'
import { until } from '../support/until.ts'
import { collectLog } from './collect-log.ts'

const OPTIONS = {
  headers: undefined,
  serviceName: 'gatehouse',
  sampler: 'always_on',
  ratio: 1,
  scheme: 'https',
  log: { warn: () => undefined },
} as const

let collector: TraceCollector
afterEach(() => collector?.close())

/** The spans of one request in which `handle` runs. */
async function spansOf(handle: (tracing: Tracing) => Promise<unknown> | undefined, request = REQUEST) {
  collector = await startTraceCollector()
  const tracing = createTracing({ ...OPTIONS, endpoint: collector.url })
  const span = tracing.beginRequest(undefined)
  let handled: unknown
  span.run(() => {
    handled = handle(tracing)
  })
  await handled
  span.end(request)
  await tracing.close()
  return collector.spans()
}

const REQUEST = { method: 'GET', route: '/signin', status: 200 }
const call = (tracing: Tracing, url: string) =>
  tracing.beginCall({ upstream: 'pam', method: 'GET', origin: new URL(url) })

test.each([
  [REQUEST, 'GET /signin', { 'http.route': '/signin' }],
  [{ ...REQUEST, route: 'none', status: 404 }, 'GET', { 'http.response.status_code': 404 }],
  [{ ...REQUEST, method: 'other' }, 'HTTP /signin', { 'http.request.method': '_OTHER' }],
  [{ ...REQUEST, status: 503 }, 'GET /signin', { 'http.response.status_code': 503, 'error.type': '503' }],
])('the request %j has a span named %s', async (request, name, attributes) => {
  const [span] = await spansOf(() => undefined, request)
  expect(span?.name).toBe(name)
  expect(span?.attributes).toMatchObject({ 'url.scheme': 'https', ...attributes })
  expect('error.type' in (span?.attributes ?? {})).toBe(request.status >= 500)
})

test.each([
  ['200', { 'http.response.status_code': 200 }],
  ['403', { 'http.response.status_code': 403, 'error.type': '403' }],
  ['timeout', { 'error.type': 'timeout' }],
])('a call that ends with %s has its status or the outcome', async (outcome, attributes) => {
  const [span] = await spansOf(async (tracing) => call(tracing, 'https://team.example/path')(outcome))
  const server = { 'server.address': 'team.example', 'server.port': 443 }
  expect(span?.attributes).toEqual({ 'http.request.method': 'GET', ...server, ...attributes })
})

test('waits for Redis at the same time are one span, one after the other are two', async () => {
  const spans = await spansOf(async (tracing) => {
    const wait = () => tracing.waitForRedis(Promise.resolve('reply'))
    await Promise.all([wait(), wait()])
    await wait()
    await expect(tracing.waitForRedis(Promise.reject(new Error('very-secret')))).rejects.toThrow(
      'very-secret',
    )
  })
  const waits = spans.filter(({ name }) => name === 'redis')
  expect(waits.map(({ attributes }) => attributes['error.type'])).toEqual([undefined, undefined, '_OTHER'])
  expect(collector.text()).not.toContain('very-secret')
})

test('outside a request, a call and a wait have no span', async () => {
  collector = await startTraceCollector()
  const tracing = createTracing({ ...OPTIONS, endpoint: collector.url })
  call(tracing, 'https://team.example')('200')
  expect(await tracing.waitForRedis(Promise.resolve('reply'))).toBe('reply')
  await tracing.close()
  expect(collector.spans()).toEqual([])
})

test('close waits for an export, but gives up on a collector that does not answer; a refusal is reported', async () => {
  const held: ServerResponse[] = []
  const server = createServer((_req, res) => void held.push(res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // of a TCP server that listens
  const { log, lines } = collectLog('warn')
  const tracing = createTracing({ ...OPTIONS, endpoint: `http://127.0.0.1:${port}`, log })
  tracing.beginRequest(undefined).end(REQUEST)
  await tracing.close()
  expect([held.length, lines().length]).toEqual([1, 0]) // the export itself would wait for 10 s
  held[0]?.writeHead(400).end()
  await until(() => lines().length === 1)
  expect(lines()).toMatchObject([{ event: 'trace_export_failed', count: 1 }])
  server.closeAllConnections()
  server.close()
})

test.each([
  ['01', true],
  ['00', false],
  ['02', false],
  ['03', true],
])('the flags %s of a traceparent are read', (flags, isSampled) => {
  const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
  expect(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)).toEqual({ traceId, spanId, isSampled })
})
