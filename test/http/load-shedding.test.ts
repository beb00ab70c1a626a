import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import { createLoadShedding, type LoadKind } from '../../src/http/load-shedding.ts'
import { bodyParser } from '../../src/http/request-body.ts'
import { createRouteTable, type Route } from '../../src/http/routes.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { until } from '../support/until.ts'
import { type Ask, keeper, serve } from './serve.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const PATHS = {
  sign_in: '/api/v1/authn',
  recovery: '/api/v1/authn/recovery/password',
  session: '/api/v1/sessions/me',
  pam: '/api/v1/pam/me',
} as const satisfies Record<LoadKind, string>
const KINDS = Object.keys(PATHS) as LoadKind[]
const SESSION_PATHS = [PATHS.session, '/forward-auth']

/** A listener whose responses wait until the test releases them, with a lag that the test sets. */
async function harness(places: Partial<Record<LoadKind, number>> = {}) {
  const lag = { ms: 0 }
  let started = 0
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const route = (loadKind: LoadKind, method: Route['method'], path: string): Route => ({
    loadKind,
    method,
    path,
    async handle(_req, res) {
      started += 1
      await held
      res.json({})
    },
  })
  const metrics = createMetrics({ processMetrics: false })
  const limits = {
    inFlight: { sign_in: 2, recovery: 20, session: 3, pam: 1, ...places },
    maxLagMs: { sign_in: 500, recovery: 500, session: 1500, pam: 500 },
    retryAfterSeconds: 7,
  }
  const routes = [
    route('sign_in', 'GET', PATHS.sign_in),
    route('sign_in', 'POST', PATHS.sign_in),
    route('recovery', 'GET', PATHS.recovery),
    route('recovery', 'POST', '/api/v1/authn/recovery/factors/:type/verify'),
    ...SESSION_PATHS.map((path) => route('session', 'GET', path)),
    route('session', 'DELETE', '/api/v1/sessions/:publicId'),
    route('pam', 'GET', PATHS.pam),
    route('pam', 'GET', '/api/v1/pam/groups/:id'),
  ]
  const findRoutes = createRouteTable(routes)
  const load = createLoadShedding({
    limits,
    findRoutes,
    lag,
    metrics,
  })
  const listener = keep(
    await serve({
      trusted: ['127.0.0.1/32'],
      before: [load.admit, bodyParser({ limitBytes: 65_536 }), load.reserve],
      routes,
    }),
  )
  let asked = 0
  return {
    ...listener,
    /** From a new address, unless one is given. */
    ask: (about: Ask) => {
      const headers = { 'x-forwarded-for': `192.0.2.${++asked}`, ...about.headers }
      return listener.ask({ ...about, headers })
    },
    limits,
    metrics,
    release,
    started: () => started,
    lag: (ms: number) => {
      lag.ms = ms
    },
  }
}

const SHED = {
  status: 503,
  headers: { 'retry-after': '7' },
  json: { errorCode: 'E0000009', errorLink: 'E0000009', errorCauses: [] },
}

test.each(KINDS)(
  '%s: requests over the capacity of the kind are 503, and other kinds are not affected',
  async (kind) => {
    const { ask, limits, started, release, metrics } = await harness()
    const places = limits.inFlight[kind]
    const underWay = Array.from({ length: places }, () => ask({ path: PATHS[kind] }))
    await until(() => started() === places)
    expect(await ask({ path: PATHS[kind] })).toMatchObject(SHED)
    const others = KINDS.filter((other) => other !== kind).map((other) => ask({ path: PATHS[other] }))
    await until(() => started() === places + others.length)
    release()
    for (const { status } of await Promise.all([...underWay, ...others])) expect(status).toBe(200)
    expect((await ask({ path: PATHS[kind] })).status).toBe(200)
    expect((await metrics.requestsShed.get()).values).toMatchObject([
      { labels: { kind, reason: 'in_flight' }, value: 1 },
    ])
    await until(async () =>
      (await metrics.httpRequestsInFlight.get()).values.every(({ value }) => value === 0),
    )
  },
)

test('the addresses of an IPv6 /64 share the sign-in capacity of one address', async () => {
  const { ask, started, release } = await harness()
  const from = (address: string) => ask({ path: PATHS.sign_in, headers: { 'x-forwarded-for': address } })
  const underWay = from('2001:db8:1:2::1')
  await until(() => started() === 1)
  expect(await from('2001:db8:1:2::2')).toMatchObject(SHED)
  const other = from('2001:db8:1:3::1')
  await until(() => started() === 2)
  release()
  for (const { status } of await Promise.all([underWay, other])) expect(status).toBe(200)
})

test('one address gets at most half of the sign-in capacity; other kinds have other shares', async () => {
  const { ask, started, release, metrics } = await harness()
  const headers = { 'x-forwarded-for': '203.0.113.7' }
  const underWay = [ask({ path: PATHS.sign_in, headers })]
  await until(() => started() === 1)
  expect(await ask({ path: PATHS.sign_in, headers })).toMatchObject(SHED)
  underWay.push(ask({ path: PATHS.sign_in }))
  for (const _ of [1, 2, 3]) underWay.push(ask({ path: PATHS.session, headers }))
  await until(() => started() === 5)
  release()
  for (const { status } of await Promise.all(underWay)) expect(status).toBe(200)
  await until(async () => (await ask({ path: PATHS.sign_in, headers })).status === 200)
  expect((await metrics.requestsShed.get()).values).toContainEqual({
    labels: { kind: 'sign_in', reason: 'address' },
    value: 1,
  })
})

describe('large requests', () => {
  const MANY_VALUES = {
    method: 'POST',
    path: PATHS.sign_in,
    headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.7' },
    body: `{"x":[${'{},'.repeat(20_000)}{}]}`,
  }

  test('of one address are refused over half of 16 MB; other addresses are not affected', async () => {
    const { ask, started, release, metrics } = await harness({ sign_in: 1000 })
    const statuses: number[] = []
    const underWay = Array.from({ length: 30 }, async () => {
      statuses.push((await ask(MANY_VALUES)).status)
    })
    await until(() => started() + statuses.length === 30)
    expect(statuses.every((status) => status === 503)).toBe(true)
    expect(started()).toBe(5) // 20,001 empty objects in 60 kB each: 1.4 MB when parsed
    const other = ask({ path: PATHS.sign_in })
    await until(() => started() === 6)
    release()
    await Promise.all(underWay)
    expect((await other).status).toBe(200)
    expect((await ask(MANY_VALUES)).status).toBe(200)
    expect((await metrics.requestsShed.get()).values).toMatchObject([
      { labels: { kind: 'sign_in', reason: 'address' }, value: 25 },
    ])
  })

  test('do not cause refusals of ordinary requests', async () => {
    const { ask, started, release } = await harness({ sign_in: 1000 })
    const from = (n: number) => ({ ...MANY_VALUES.headers, 'x-forwarded-for': `198.51.100.${n}` })
    const statuses: number[] = []
    const underWay = Array.from({ length: 30 }, async (_, n) => {
      statuses.push((await ask({ ...MANY_VALUES, headers: from(n) })).status)
    })
    await until(() => started() + statuses.length === 30)
    const large = started()
    expect(large).toBeLessThan(30)
    const signedByAKey = {
      stateToken: 'x'.repeat(43),
      attestation: 'a'.repeat(12_000),
      clientData: 'c'.repeat(500),
    }
    const ordinary = Array.from({ length: 100 }, (_, n) =>
      ask({ ...MANY_VALUES, headers: from(n), body: JSON.stringify(signedByAKey) }),
    )
    await until(() => started() === large + ordinary.length)
    release()
    await Promise.all([...underWay, ...ordinary])
  })

  test('of many addresses are refused over 16 MB; header lines count', async () => {
    const { ask, started, release } = await harness({ sign_in: 1000 })
    const headers = Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`x-${n}`, 'b']))
    const statuses: number[] = []
    const underWay = Array.from({ length: 150 }, async () => {
      statuses.push((await ask({ path: PATHS.sign_in, headers })).status)
    })
    await until(() => started() + statuses.length === 150)
    expect(statuses.length).toBeGreaterThan(20)
    expect(started()).toBeGreaterThan(50)
    release()
    await Promise.all(underWay)
  })
})

test('one address gets at most a tenth of the recovery capacity', async () => {
  const { ask, started, release, metrics } = await harness()
  const headers = { 'x-forwarded-for': '203.0.113.7' }
  const underWay = [ask({ path: PATHS.recovery, headers })]
  const verify = '/api/v1/authn/recovery/factors/SMS/verify'
  underWay.push(ask({ method: 'POST', path: verify, headers }))
  await until(() => started() === 2)
  expect(await ask({ path: PATHS.recovery, headers })).toMatchObject(SHED)
  underWay.push(ask({ path: PATHS.recovery }), ask({ path: PATHS.sign_in, headers }))
  await until(() => started() === 4)
  release()
  for (const { status } of await Promise.all(underWay)) expect(status).toBe(200)
  await until(async () => (await ask({ path: PATHS.recovery, headers })).status === 200)
  expect((await metrics.requestsShed.get()).values).toContainEqual({
    labels: { kind: 'recovery', reason: 'address' },
    value: 1,
  })
})

test('a process with event-loop lag refuses requests before it reads them, session requests last', async () => {
  const { ask, lag, release, started } = await harness()
  release()
  const signIn = {
    method: 'POST',
    path: PATHS.sign_in,
    headers: { 'content-type': 'application/json' },
    body: 'x'.repeat(70_000), // neither JSON nor small enough, but it was not parsed
  }
  lag(499)
  expect((await ask(signIn)).status).toBe(413)
  lag(500)
  expect(await ask(signIn)).toMatchObject(SHED)
  expect(await ask({ path: PATHS.pam })).toMatchObject(SHED)
  for (const path of SESSION_PATHS) expect((await ask({ path })).status).toBe(200)
  lag(1500)
  for (const path of SESSION_PATHS) expect(await ask({ path })).toMatchObject(SHED)
  expect(started()).toBe(2)
  lag(0)
  expect((await ask({ path: PATHS.pam })).status).toBe(200)
})

test.each([
  ['DELETE', '/api/v1/sessions/1', 'session'],
  ['GET', '/api/v1/pam/groups/1', 'pam'],
  ['POST', '/api/v1/authn/recovery/factors/SMS/verify', 'recovery'],
  ['GET', '/api/v1/sessions', 'sign_in'], // not in this table
  ['GET', '/nowhere', 'sign_in'],
])('%s %s, with a route parameter or without a route, is of the kind %s', async (method, path, kind) => {
  const { ask, lag, metrics } = await harness()
  lag(1500)
  expect(await ask({ method, path })).toMatchObject(SHED)
  expect((await metrics.requestsShed.get()).values).toMatchObject([
    { labels: { kind, reason: 'lag' }, value: 1 },
  ])
})

const FROM = 'X-Forwarded-For: 192.0.2.1'

describe('an incomplete body', () => {
  const begun = (path: string) =>
    [
      `POST ${path} HTTP/1.1`,
      'Host: x',
      FROM,
      'Content-Type: application/json',
      'Content-Length: 2',
      '',
      '{',
    ].join('\r\n')

  /** Sends all but the last byte; `end` sends the last byte and returns the status. */
  async function slow(port: number, path: string) {
    const socket = connect(port, '127.0.0.1', () => socket.write(begun(path)))
    keep({ close: () => socket.destroy() })
    await once(socket, 'connect')
    const end = async () => {
      socket.write('}')
      const [answer] = (await once(socket, 'data')) as [Buffer]
      return Number(/^HTTP\/1\.1 (\d+)/.exec(answer.toString())?.[1])
    }
    return { end }
  }

  test('reserves no capacity: slow clients cause no refusals', async () => {
    const { ask, port, limits, release, metrics } = await harness()
    release()
    const waiting = []
    for (let n = 0; n < 3 * limits.inFlight.sign_in; n++) waiting.push(await slow(port, PATHS.sign_in))
    for (let n = 0; n < 3 * limits.inFlight.session; n++) waiting.push(await slow(port, PATHS.session))
    for (let n = 0; n < 5; n++) {
      expect((await ask({ path: PATHS.sign_in })).status).toBe(200)
      expect((await ask({ path: '/forward-auth' })).status).toBe(200)
    }
    expect((await metrics.requestsShed.get()).values).toEqual([])
    expect(await waiting[0]?.end()).toBe(200)
  })

  test('is refused when it is complete if the capacity is used up by then', async () => {
    const { ask, port, limits, release, started, metrics } = await harness()
    const late = await slow(port, PATHS.sign_in)
    const places = limits.inFlight.sign_in
    const underWay = Array.from({ length: places }, () => ask({ path: PATHS.sign_in }))
    await until(() => started() === places)
    expect(await late.end()).toBe(503)
    release()
    for (const { status } of await Promise.all(underWay)) expect(status).toBe(200)
    expect((await metrics.requestsShed.get()).values).toMatchObject([
      { labels: { kind: 'sign_in', reason: 'in_flight' }, value: 1 },
    ])
    await until(async () =>
      (await metrics.httpRequestsInFlight.get()).values.every(({ value }) => value === 0),
    )
  })
})

test('a client that disconnects releases its capacity', async () => {
  const { ask, port, started, release } = await harness()
  const gone = new AbortController()
  const headers = { 'x-forwarded-for': '192.0.2.1' }
  const asking = fetch(`http://127.0.0.1:${port}${PATHS.pam}`, { headers, signal: gone.signal }).catch(
    () => 'gone',
  )
  await until(() => started() === 1)
  expect(await ask({ path: PATHS.pam })).toMatchObject(SHED)
  gone.abort()
  expect(await asking).toBe('gone')
  release()
  await until(async () => (await ask({ path: PATHS.pam })).status === 200)
})

test('a client that pipelines and disconnects releases its capacity and has a log line for each request', async () => {
  const { port, limits, started, release, metrics, lines } = await harness()
  const places = limits.inFlight.session
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${PATHS.session} HTTP/1.1\r\nHost: x\r\n${FROM}\r\n\r\n`.repeat(places))
  await until(() => started() === places)
  socket.resetAndDestroy()
  await until(async () => (await metrics.httpRequestsInFlight.get()).values.every(({ value }) => value === 0))
  const goneLines = () => lines().filter(({ event, status }) => event === 'request' && status === 499)
  await until(() => goneLines().length === places)
  release() // the client is gone
})
