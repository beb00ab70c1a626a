import { describe, expect, test } from '@jest/globals'
import { getRequestContext } from '../../src/http/request-context.ts'
import type { Route } from '../../src/http/route.ts'
import { rawExchange } from '../support/ask-port.ts'
import { useKeeper } from '../support/keeper.ts'
import { until } from '../support/until.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const context: Route = {
  method: 'GET',
  path: '/context/:id',
  handle(req, res) {
    const { requestId, address } = getRequestContext(req)
    res.json({ requestId, address })
  },
}
const LOOPBACK = ['127.0.0.0/8', '::1/128']
/** The header that every trusted proxy must send. */
const CLIENT = { 'X-Forwarded-For': '198.51.100.7' }
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`

describe('the request id', () => {
  // shows: V4.1.3
  test('is not accepted from a client that is not a trusted proxy', async () => {
    const { ask } = keep(await serve({ routes: [context] }))
    const headers = { 'X-Request-Id': 'chosen-by-caller', traceparent: TRACEPARENT }
    const answer = await ask({ path: '/context/1', headers })
    expect(answer.headers['x-request-id']).toMatch(UUID)
    expect(answer.json).toEqual({ requestId: answer.headers['x-request-id'], address: '127.0.0.1' })
  })

  test.each([
    'short',
    'x'.repeat(129),
    'has space inside',
    'semi;colon;inside',
    'quote"inside"it',
    'slash/inside',
    '{{jndi:ldap://x}}',
    '<script>alert(1)</script>',
    'ümlaut-inside',
    '',
  ])('%j from a trusted proxy is malformed and replaced', async (id) => {
    const { ask } = keep(await serve({ routes: [context], trusted: LOOPBACK }))
    const headers = { ...CLIENT, 'X-Request-Id': Buffer.from(id).toString('latin1') }
    expect((await ask({ path: '/context/1', headers })).headers['x-request-id']).toMatch(UUID)
  })

  // shows: V15.3.7
  test('is replaced if the header is sent twice', async () => {
    const { ask } = keep(await serve({ routes: [context], trusted: LOOPBACK }))
    const headers = { ...CLIENT, 'X-Request-Id': ['first-id-1', 'second-id-2'] }
    expect((await ask({ path: '/context/1', headers })).headers['x-request-id']).toMatch(UUID)
  })

  test('from a trusted proxy is used in the response, the error and the log if it is well-formed', async () => {
    const { ask, lines } = keep(await serve({ routes: [context], trusted: LOOPBACK }))
    const headers = { ...CLIENT, 'X-Request-Id': 'edge:2026-11.abc_1', traceparent: TRACEPARENT }
    const answer = await ask({ method: 'DELETE', path: '/context/1', headers })
    expect(answer.headers['x-request-id']).toBe('edge:2026-11.abc_1')
    expect(answer.json).toMatchObject({ errorId: 'edge:2026-11.abc_1' })
    await until(() => lines().length > 0)
    const [line] = lines()
    expect(line).toMatchObject({ requestId: 'edge:2026-11.abc_1', trace_id: TRACE, errorCode: 'E0000022' })
  })
})

test.each([
  'garbage',
  `01-${TRACE}-b7ad6b7169203331-01`,
  `00-${TRACE.toUpperCase()}-b7ad6b7169203331-01`,
  `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `${TRACEPARENT}-extra`,
])('the malformed traceparent %j is ignored', async (traceparent) => {
  const { ask, lines } = keep(await serve({ routes: [context], trusted: LOOPBACK }))
  await ask({ path: '/context/1', headers: { ...CLIENT, traceparent } })
  await until(() => lines().length > 0)
  expect(lines()[0]).not.toHaveProperty('trace_id')
})

describe('one log line and one metric per request', () => {
  // shows: V16.2.1
  test('contain the route template, and never the path, its query or a header', async () => {
    const { ask, lines, logText, metrics } = keep(await serve({ routes: [context] }))
    await ask({
      path: '/context/very-secret-id?token=very-secret-token',
      headers: { Cookie: 'very-secret=1', 'User-Agent': 'very-secret' },
    })
    await until(() => lines().length > 0)
    const [line] = lines()
    expect(line).toEqual({
      time: expect.any(String),
      level: 'info',
      event: 'request',
      requestId: expect.stringMatching(UUID),
      address: '127.0.0.1',
      method: 'GET',
      route: '/context/:id',
      status: 200,
      durationMs: expect.any(Number),
    })
    expect(logText()).not.toContain('very-secret')
    const measured = await metrics.registry.metrics()
    expect(measured).toContain(
      'gatehouse_http_request_duration_seconds_count{method="GET",route="/context/:id",status="200"} 1',
    )
    expect(measured).not.toContain('very-secret')
  })

  test('an unknown path or method becomes neither a label nor a field', async () => {
    const { ask, lines, metrics } = keep(await serve({}))
    await ask({ path: '/very-secret-path' })
    await ask({ method: 'PROPFIND', path: '/very-secret-path' })
    await until(() => lines().length === 2)
    expect(lines().map(({ method, route }) => [method, route])).toEqual([
      ['GET', 'none'],
      ['other', 'none'],
    ])
    expect(await metrics.registry.metrics()).not.toMatch(/very-secret|PROPFIND/)
  })

  test('a client that disconnects before the response is logged as 499', async () => {
    const hang: Route = { method: 'GET', path: '/hang', handle: (req) => void req.socket.destroy() }
    const { port, lines } = keep(await serve({ routes: [hang] }))
    await rawExchange(port, 'GET /hang HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => lines().length > 0)
    const [line] = lines()
    expect(line).toMatchObject({ route: '/hang', status: 499 })
  })
})

describe('X-Forwarded-For', () => {
  const warnings = (lines: () => Record<string, unknown>[]) =>
    lines().filter(({ event }) => event === 'untrusted_forwarded_for')

  test('from a client that is not a trusted proxy is logged once, because TRUST_PROXY may be missing', async () => {
    const { ask, lines } = keep(await serve({ routes: [context] }))
    for (let n = 0; n < 3; n++) await ask({ path: '/context/1', headers: { 'X-Forwarded-For': '6.6.6.6' } })
    await until(() => lines().filter(({ event }) => event === 'request').length === 3)
    expect(warnings(lines)).toMatchObject([{ level: 'warn', address: '127.0.0.1' }])
  })

  test('from a trusted proxy causes no warning', async () => {
    const { ask, lines } = keep(await serve({ routes: [context], trusted: LOOPBACK }))
    await ask({ path: '/context/1', headers: CLIENT })
    await until(() => lines().some(({ event }) => event === 'request'))
    expect(warnings(lines)).toEqual([])
  })
})
