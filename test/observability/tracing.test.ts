import { expect, test } from '@jest/globals'
import { createTracing, type Tracing } from '../../src/observability/tracing.ts'
import { useFreshFixture } from '../support/fixture.ts'
import { startStubUpstream } from '../support/stub-upstream.ts'
import { startTraceCollector } from '../support/trace-collector.ts'
import { collectLog } from './collect-log.ts'

const collector = useFreshFixture({ start: startTraceCollector, stop: ({ close }) => close() })
const { log, lines } = collectLog()

const tracingTo = (endpoint: string, sampler = 'always_on', ratio = 1) =>
  createTracing({
    endpoint,
    headers: undefined,
    serviceName: 'x',
    instanceId: 'one-of-two',
    sampler,
    ratio,
    scheme: 'https',
    log,
  })

const REQUEST = { method: 'GET', route: '/signin', status: 200 }

/** The spans of one request in which `handle` runs. The server's is the last. */
async function spansOf(handle: (tracing: Tracing) => unknown, request = REQUEST) {
  const tracing = tracingTo(collector.origin)
  const span = tracing.beginRequest(undefined)
  await new Promise((resolve) => span.run(() => resolve(handle(tracing))))
  span.end(request)
  await tracing.close()
  return collector.spans()
}

test.each([
  [REQUEST, 'GET /signin', { 'http.route': '/signin' }],
  [{ ...REQUEST, route: 'none', status: 404 }, 'GET', { 'http.response.status_code': 404 }],
  [{ ...REQUEST, method: 'other' }, 'HTTP /signin', { 'http.request.method': '_OTHER' }],
  [{ ...REQUEST, status: 503 }, 'GET /signin', { 'http.response.status_code': 503, 'error.type': '503' }],
])('the request %j has a span named %s', async (request, name, attributes) => {
  const [span] = await spansOf(() => {}, request)
  expect(span).toMatchObject({ name, kind: 2, attributes: { 'url.scheme': 'https', ...attributes } })
  expect(span?.attributes['error.type']).toBe(request.status < 500 ? undefined : '503')
})

test.each([
  ['200', { 'http.response.status_code': 200 }],
  ['403', { 'http.response.status_code': 403, 'error.type': '403' }],
  ['timeout', { 'error.type': 'timeout' }],
])('a call that ends with %s has its status or the outcome', async (outcome, attributes) => {
  const [span] = await spansOf((tracing) =>
    tracing.beginCall('pam', 'GET', 'https://team.example/a')(outcome),
  )
  const server = { 'server.address': 'team.example', 'server.port': 443 }
  expect(span?.attributes).toEqual({ 'http.request.method': 'GET', ...server, ...attributes })
})

test('each wait for Redis has a span, those at the same time too; an error is named, not quoted', async () => {
  const error = new Error('very-secret')
  const spans = await spansOf(async ({ waitForRedis }) => {
    const waits = [
      waitForRedis(Promise.reject(error), 'GET'),
      waitForRedis(Promise.resolve('reply'), 'EVALSHA', 'commit'),
    ]
    expect(await Promise.allSettled(waits)).toMatchObject([{ reason: error }, { value: 'reply' }])
  })
  const waits = spans.filter(({ attributes }) => attributes['db.system.name'] === 'redis')
  expect(Object.fromEntries(waits.map(({ name, attributes }) => [name, attributes]))).toEqual({
    GET: { 'db.system.name': 'redis', 'db.operation.name': 'GET', 'error.type': '_OTHER' },
    'EVALSHA commit': {
      'db.system.name': 'redis',
      'db.operation.name': 'EVALSHA',
      'db.stored_procedure.name': 'commit',
    },
  })
  expect(collector.text()).not.toContain('very-secret')
})

test('outside a request, a call and a wait have no span', async () => {
  const tracing = tracingTo(collector.origin)
  tracing.beginCall('authn', 'GET', 'https://team.example')('200')
  expect(await tracing.waitForRedis(Promise.resolve('reply'), 'GET')).toBe('reply')
  await tracing.close()
  expect(collector.requests).toEqual([])
})

/** Without a parent, with one that is not sampled, and with one that is. */
test.each([
  ['always_on', [true, true, true]],
  ['always_off', [false, false, false]],
  ['traceidratio', [false, false, false]],
  ['parentbased_always_on', [true, false, true]],
  ['parentbased_always_off', [false, false, true]],
  ['parentbased_traceidratio', [false, false, true]],
])('the sampler %s with the part 0 exports %j', async (sampler, expected) => {
  const tracing = tracingTo(collector.origin, sampler, 0)
  const parents = [
    undefined,
    `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`,
    `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`,
  ]
  const requests = parents.map((parent) => tracing.beginRequest(parent))
  for (const request of requests) request.end(REQUEST)
  await tracing.close()
  const exported = collector.spans().map(({ traceId }) => traceId)
  expect(requests.map(({ traceId }) => exported.includes(traceId))).toEqual(expected)
})

test.each([
  ['refuses', 400],
  ['does not answer', undefined],
])('a collector that %s is reported, and delays the end by a time limit only', async (_how, status) => {
  const stub = await startStubUpstream((_req, res) => void (status && res.writeHead(status).end()))
  const tracing = tracingTo(stub.origin)
  tracing.beginRequest(undefined).end(REQUEST)
  await tracing.close()
  expect(lines().at(-1)).toMatchObject({ level: 'warn', event: 'trace_export_failed', count: 1 })
  expect(stub.requests.map(({ path }) => path)).toEqual(['/v1/traces'])
  await stub.close()
})
