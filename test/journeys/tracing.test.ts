import { beforeAll, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import type { CollectedSpan } from '../support/trace-collector.ts'
import { until } from '../support/until.ts'

/**
 * One user's requests. Every other journey exports its traces too, and none may have a secret
 * (harness-secrets.ts).
 */

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const TRACED = { 'x-forwarded-for': '198.51.100.7', traceparent: `00-${TRACE}-${PARENT}-01` }
const APP = `/app/v1/pam/users/${encodeURIComponent(AMELIA)}`
const TOKEN = 'plainly-fake-token-of-the-portal'

let aheadMs = 0
let harness: Harness
let spans: readonly CollectedSpan[]
let direct: Gatehouse
beforeAll(async () => {
  const collector = {
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20made-up',
    OTEL_SERVICE_NAME: 'broker-1',
  }
  harness = await startHarness({
    env: {
      TRUST_PROXY: '127.0.0.0/8',
      APP_TOKENS: `portal:${TOKEN}`,
      ...collector,
      SESSION_RECHECK_MINUTES: '1',
    },
    now: () => Date.now() + aheadMs,
  })
  const { url } = harness.gatehouse
  const browser = openBrowser(url, TRACED)
  await browser.get('/api/v1/sessions/me')
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  await browser.get('/api/v1/pam/groups?search=searched-for')
  await fetch(url + APP, { headers: { ...TRACED, authorization: `Bearer ${TOKEN}` } })
  direct = await harness.replica({ TRUST_PROXY: '', SESSION_RECHECK_MINUTES: '' })
  await fetch(`${direct.url}/signin`, { headers: TRACED, redirect: 'manual' })
  aheadMs = 120_000
  await browser.get('/forward-auth') // extends the session, with a re-check
  await until(() => harness.upstreamCalls().some(({ path }) => path.startsWith('/api/v1/users/')))
  await harness.stop()
  spans = harness.collector.spans()
})

const requestTo = (route: string) => spans.find(({ attributes }) => attributes['http.route'] === route)
const childrenOf = (route: string) =>
  spans
    .filter(({ attributes }) => attributes['http.route'] === route)
    .flatMap(({ spanId }) => spans.filter(({ parentSpanId }) => parentSpanId === spanId))
    .map(({ name, attributes }) => attributes['db.system.name'] ?? name)

const loggedTrace = (route: string) =>
  [harness.gatehouse, direct].flatMap((broker) => broker.logLines()).find((line) => line.route === route)
    ?.trace_id

test.each([
  ['/api/v1/authn', 'POST authn'],
  ['/api/v1/pam/groups', 'POST pam', 'GET pam'], // the token, and a list
  ['/app/v1/pam/users/:login', 'GET pam'],
  ['/forward-auth', 'GET authn'], // the re-check
])('a request to %s has a span, with children for Redis and %s', (route, ...calls) => {
  expect(new Set(childrenOf(route))).toEqual(new Set(['redis', ...calls]))
})

test('the span of a call names the upstream', () => {
  const { hostname, port } = new URL(harness.authnUrl)
  const attributes = { 'server.address': hostname, 'server.port': Number(port) }
  expect(spans.find(({ name }) => name === 'POST authn')).toMatchObject({ kind: 3, attributes })
})

test('the span of a command to Redis has its name, and that of its script', () => {
  const commands = spans.filter(({ attributes }) => attributes['db.system.name'] === 'redis')
  const names = new Set(commands.map(({ name }) => name))
  for (const name of ['GET', 'SET', 'EVALSHA countAttempt']) expect(names).toContain(name)
})

test('the process has the same id in its traces and its audit lines', () => {
  const { process } = harness.gatehouse.logLines().find(({ audit }) => audit === true) ?? {}
  const attribute = { key: 'service.instance.id', value: { stringValue: process } }
  expect(harness.collector.text()).toContain(JSON.stringify(attribute))
})

test("a trusted proxy's trace is continued, also in the log, and not sent to Okta or PAM", () => {
  expect(requestTo('/api/v1/authn')).toMatchObject({ traceId: TRACE, parentSpanId: PARENT })
  expect(loggedTrace('/api/v1/authn')).toBe(TRACE)
  const { requestLog } = harness.sandbox
  const sent = [...requestLog.authn.entries, ...requestLog.pam.entries]
  for (const path of ['/api/v1/authn', '/v1/teams/example-team/groups'])
    expect(sent.map((call) => call.path)).toContain(path)
  expect(JSON.stringify(sent)).not.toMatch(new RegExp(`traceparent|${TRACE}`, 'i'))
})

test("a client's traceparent is ignored: the span has a trace of its own, which the log names", () => {
  const { traceId, parentSpanId } = requestTo('/signin') ?? {}
  expect([traceId === TRACE, parentSpanId]).toEqual([false, undefined])
  expect(loggedTrace('/signin')).toBe(traceId)
})

test('the headers and the name of the service reach the collector', () => {
  expect(harness.collector.requests[0]?.headers.authorization).toBe('Bearer made-up')
  expect(harness.collector.text()).toContain('{"key":"service.name","value":{"stringValue":"broker-1"}}')
})
