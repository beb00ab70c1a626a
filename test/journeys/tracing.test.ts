import { afterEach, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import {
  AMELIA,
  FROM_PROXY,
  type Harness,
  type HarnessOptions,
  PASSWORD,
  startHarness,
  TOMAS,
} from '../support/harness.ts'
import { startStubUpstream } from '../support/stub-upstream.ts'
import type { CollectedSpan } from '../support/trace-collector.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'

/** Every journey exports its traces to a collector, which harness-secrets.ts searches. */

let harness: Harness
let stop = async (): Promise<void> => undefined
afterEach(() => stop())

async function start(options?: HarnessOptions): Promise<void> {
  harness = await startHarness(options)
  let stopped: Promise<void> | undefined
  stop = () => {
    stopped ??= harness.stop()
    return stopped
  }
}

const SERVER = 2
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const TRUSTED = { TRUST_PROXY: '127.0.0.0/8' }

/** The spans of this request, and the children of the server's span, when all of them are exported. */
async function tracesAfterStop() {
  await stop()
  const spans = harness.collector.spans()
  const requestTo = (route: string) => spans.find((span) => span.attributes['http.route'] === route)
  const childrenOf = (parent: CollectedSpan | undefined) =>
    spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId)
  return { spans, requestTo, childrenOf }
}

test('a sign-in has a server span, a span of the call to Okta, and one for each wait for Redis', async () => {
  await start()
  const browser = await harness.visit()
  const answer = await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect(answer.status).toBe(200)
  const { requestTo, childrenOf } = await tracesAfterStop()
  const request = requestTo('/api/v1/authn')
  expect(request).toMatchObject({
    name: 'POST /api/v1/authn',
    kind: SERVER,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'url.scheme': 'http',
    },
  })
  const children = childrenOf(request)
  const [call, ...others] = children.filter(({ name }) => name !== 'redis')
  expect(others).toEqual([])
  const { hostname, port } = new URL(harness.authnUrl)
  expect(call).toMatchObject({ name: 'POST authn', kind: 3 })
  expect(call?.attributes).toEqual({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'server.address': hostname,
    'server.port': Number(port),
  })
  const waits = children.filter(({ name }) => name === 'redis')
  expect(waits).toHaveLength(2) // the lock with the limits, and the commit (docs/architecture.md)
  const requestId = answer.headers.get('x-request-id')
  const line = harness.gatehouse.logLines().find((each) => each.requestId === requestId)
  expect(line?.trace_id).toBe(request?.traceId)
})

test('a page view has one wait for Redis; no span has an address, a cookie, a handle or a query', async () => {
  await start({ env: TRUSTED })
  const client = { 'x-forwarded-for': '198.51.100.7', traceparent: `00-${TRACE}-b7ad6b7169203331-01` }
  const browser = openBrowser(harness.gatehouse.url, client)
  await browser.get('/api/v1/sessions/me')
  const asked = await browser.post('/api/v1/authn', { username: TOMAS, password: PASSWORD })
  const passCode = harness.sandbox.totpCode(TOMAS)
  const path = new URL(verifyHref(asked, 'token:software:totp')).pathname
  const done = await browser.post(path, { stateToken: handleOf(asked), passCode })
  await browser.get('/forward-auth')
  await browser.get('/api/v1/pam/groups?search=searched-for')
  await browser.get('/very-secret-path?q=very-secret')
  const { spans, requestTo, childrenOf } = await tracesAfterStop()
  expect(childrenOf(requestTo('/forward-auth')).map(({ name }) => name)).toEqual(['redis'])
  expect(spans.some(({ name }) => name === 'GET pam')).toBe(true)
  const exported = harness.collector.text()
  const cookies = [...asked.setCookies, ...done.setCookies].map((line) => line.split(/[=;]/)[1] ?? '')
  expect(cookies.length).toBeGreaterThan(0)
  for (const secret of [...cookies, handleOf(asked), '198.51.100.7', 'searched-for', 'very-secret'])
    expect(exported).not.toContain(secret)
  // the proxy's trace is continued, and not passed on
  expect(requestTo('/forward-auth')).toMatchObject({ traceId: TRACE, parentSpanId: 'b7ad6b7169203331' })
  const sent = harness.upstreamCalls()
  expect(sent.length).toBeGreaterThan(0)
  expect(JSON.stringify(sent)).not.toMatch(/traceparent|0af7651916cd43dd8448eb211c80319c/i)
})

test('a traceparent of a client that is no trusted proxy is not continued', async () => {
  await start()
  const browser = await harness.visit()
  await browser.get('/forward-auth', { headers: { traceparent: `00-${TRACE}-b7ad6b7169203331-01` } })
  const { requestTo } = await tracesAfterStop()
  expect(requestTo('/forward-auth')).toMatchObject({ traceId: expect.not.stringContaining(TRACE) })
})

test.each([
  ['always_off', 0],
  ['parentbased_always_off', 1],
  ['parentbased_traceidratio', 1],
  ['traceidratio', 0],
])(
  'with the sampler %s and 0, %d of a sampled and an unsampled trace is exported',
  async (sampler, count) => {
    const env = { ...TRUSTED, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0' }
    await start({ env })
    for (const flags of ['00', '01']) {
      const traceparent = `00-${TRACE}-b7ad6b7169203331-${flags}`
      await openBrowser(harness.gatehouse.url, { ...FROM_PROXY, traceparent }).get('/forward-auth')
    }
    const { spans } = await tracesAfterStop()
    expect(spans.map(({ traceId }) => traceId)).toEqual(Array(count).fill(TRACE))
  },
)

test('the headers and the name of the service reach the collector', async () => {
  const env = { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20made-up', OTEL_SERVICE_NAME: 'broker-1' }
  await start({ env })
  await harness.visit()
  await tracesAfterStop()
  expect(harness.collector.headers().authorization).toBe('Bearer made-up')
  expect(harness.collector.text()).toContain('{"key":"service.name","value":{"stringValue":"broker-1"}}')
})

test('a collector that refuses the traces costs no request, and is logged', async () => {
  const refusing = await startStubUpstream((_req, res) => void res.writeHead(400).end())
  await start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: refusing.origin } })
  const answer = await openBrowser(harness.gatehouse.url).get('/api/v1/sessions/me')
  expect(answer.status).toBe(404)
  await stop()
  await refusing.close()
  const lines = harness.gatehouse.logLines().filter(({ event }) => event === 'trace_export_failed')
  expect(lines).toMatchObject([{ level: 'warn', count: 1 }])
})
