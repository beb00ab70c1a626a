import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { PAM_ERROR_NAMES, type PamErrorName } from '../../src/pam/upstream/pam-errors.ts'
import { until } from '../support/until.ts'
import { counted } from './counted.ts'
import { LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

/**
 * The rows of docs/conformance.md D-6: the response without a cached list, the number of calls, and
 * whether a stale list is served.
 */
interface Row {
  readonly status: number
  readonly code: string
  readonly calls: number
  readonly mints: number
  readonly stale: boolean
  readonly purged?: boolean
  readonly retryAfter?: boolean
}

const ONCE = { status: 502, calls: 1, mints: 1, stale: false } as const
const KEPT = { ...ONCE, stale: true } as const
const ROWS: Readonly<Record<PamErrorName, Row>> = {
  // shows: P-12.2, D-6.2
  invalid_request: { ...ONCE, code: 'pam_bad_request' },
  // shows: P-12.12, D-6.2
  unsupported_content_type: { ...ONCE, code: 'pam_bad_request' },
  // shows: P-12.3, D-6.1, D-6.3
  authentication_error: { ...KEPT, code: 'pam_credentials', calls: 2, mints: 2 },
  // shows: P-12.4, D-6.4
  authorization_error: { ...ONCE, code: 'pam_not_permitted', calls: 2, mints: 2, purged: true },
  // shows: F-7.16, P-10.7, P-12.6, D-6.5
  forbidden_error: { ...ONCE, code: 'pam_not_permitted', purged: true },
  // shows: P-7.3, P-12.5, D-6.6
  server_authorization_revoked: { ...ONCE, code: 'pam_unexpected' },
  // shows: P-12.11, D-6.6
  resource_already_exists: { ...ONCE, code: 'pam_unexpected' },
  // shows: P-12.7, D-6.7
  quota_exceeded: { ...KEPT, code: 'pam_quota' },
  // shows: P-12.8, D-6.8
  disabled_team: { ...ONCE, status: 503, code: 'pam_team_disabled', purged: true, retryAfter: true },
  // shows: P-12.9, D-6.9
  resource_does_not_exist: { ...ONCE, status: 404, code: 'pam_user_unknown' },
  // shows: P-12.10, P-15.2, D-6.12
  resource_deprecated: { ...ONCE, code: 'pam_deprecated' },
  // shows: P-12.13, D-6.13
  too_many_requests: { ...KEPT, status: 503, code: 'pam_rate_limited', retryAfter: true },
  // shows: P-12.14, D-6.14
  client_closed_connection: { ...KEPT, code: 'pam_unavailable', calls: 2 },
  // shows: P-12.15, D-3.3, D-6.14
  unknown_error: { ...KEPT, code: 'pam_unavailable', calls: 3 },
  // shows: P-12.16, D-6.15
  service_offline: { ...KEPT, status: 503, code: 'pam_unavailable', calls: 3, retryAfter: true },
  // shows: P-12.17, D-6.16
  gateway_timeout: { ...KEPT, status: 504, code: 'pam_timeout', calls: 2 },
}

const LIST = '/v1/teams/example-team/users'
/** Less than the 5 minutes after which `/me` serves no stale list. */
const JUST_KEPT_MS = 299_000

const harness = usePamHarness(({ pam }) => pam.control.setUserGroups(LOGIN, ['Platform Admins']))

function fail(error: PamErrorName, shape?: 'nottype') {
  const named = shape === undefined ? {} : { shape }
  harness.pam.control.failNext({ error, path: LIST, times: 'always', retrySeconds: 100, ...named })
}
const listCalls = () => harness.pam.requestLog.entries.filter(({ path }) => path.startsWith(LIST)).length
const listKeys = () =>
  [...harness.store.entries.keys()].filter((key) => key.startsWith('gatehouse:pam-groups'))

/** A replica that serves a list of more than a minute only after an error. */
const shortlyStale = () =>
  harness.replica({ tunables: (same) => ({ ...same, lists: { ...same.lists, staleMs: 60_000 } }) })

test.each(PAM_ERROR_NAMES)('%s without a cached list', async (name) => {
  const row = ROWS[name]
  fail(name)
  const { status, body, headers } = await harness.broker.get('/api/v1/pam/me')
  expect([status, body.errorCode]).toEqual([row.status, row.code])
  expect(body).toMatchObject({ errorLink: row.code, errorCauses: [] })
  expect(headers.get('retry-after') !== null).toBe(row.retryAfter === true)
  expect(headers.get('cache-control')).toBe('private, no-cache')
  expect(listCalls()).toBe(row.calls)
  expect(harness.pam.control.counts().tokensMinted).toBe(row.mints)
  expect(await counted(harness.broker.metrics, 'pam_errors_total')).toEqual({ [name]: row.calls })
})

test.each<[refusal: PamErrorName, as: PamErrorName]>([
  ['invalid_request', 'invalid_request'],
  ['authorization_error', 'authentication_error'],
  ['quota_exceeded', 'forbidden_error'],
  ['disabled_team', 'forbidden_error'],
  ['resource_deprecated', 'resource_does_not_exist'],
  ['resource_already_exists', 'resource_already_exists'],
  ['unknown_error', 'unknown_error'],
])(
  '%s as {nottype, code, message}, without its name (O4), is treated by its status as %s',
  async (name, as) => {
    const row = ROWS[as]
    fail(name, 'nottype')
    const { status, body } = await harness.broker.get('/api/v1/pam/me')
    expect([status, body.errorCode]).toEqual([row.status, row.code])
    expect(listCalls()).toBe(row.calls)
    expect(await counted(harness.broker.metrics, 'pam_errors_total')).toEqual({ [as]: row.calls })
  },
)

test.each(PAM_ERROR_NAMES)(
  '%s with a cached list: the stale list is served, or the error is returned',
  async (name) => {
    const row = ROWS[name]
    const broker = await shortlyStale()
    await broker.get('/api/v1/pam/me')
    harness.advance(JUST_KEPT_MS)
    fail(name)
    const { status, body } = await broker.get('/api/v1/pam/me')
    if (row.stale) {
      expect([status, body.meta]).toEqual([200, { fetchedAt: '2026-11-02T08:00:00.000Z', stale: true }])
      harness.advance(2000) // now too old to be served after an error
      expect((await broker.get('/api/v1/pam/me')).status).not.toBe(200)
    } else {
      expect([status, body.errorCode]).toEqual([row.status, row.code])
      if (row.purged && name !== 'disabled_team') expect(listKeys()).toEqual([])
    }
  },
)

// shows: D-6.5
test('a background refresh that is forbidden purges the list on every replica', async () => {
  const other = await harness.replica()
  await harness.broker.get('/api/v1/pam/me')
  await other.get('/api/v1/pam/me')
  harness.advance(100_000)
  fail('forbidden_error')
  expect((await harness.broker.get('/api/v1/pam/me')).body.meta).toMatchObject({ stale: true })
  for (let answer = 200; answer === 200; ) answer = (await harness.broker.get('/api/v1/pam/me')).status
  expect((await other.get('/api/v1/pam/me')).body.errorCode).toBe('pam_not_permitted')
})

// shows: D-6.8
test('after disabled_team, no replica calls PAM for five minutes, and the cached lists stay purged', async () => {
  const other = await harness.replica()
  await harness.broker.get('/api/v1/pam/groups')
  await other.get('/api/v1/pam/groups')
  harness.advance(1000)
  harness.pam.control.disableTeam()
  await harness.broker.get('/api/v1/pam/me')
  const calls = harness.pam.requestLog.entries.length

  for (const broker of [harness.broker, other]) {
    const answer = await broker.get('/api/v1/pam/groups')
    expect([answer.status, answer.body.errorCode]).toEqual([503, 'pam_team_disabled'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(290)
  }
  expect(harness.pam.requestLog.entries.length).toBe(calls)

  harness.advance(301_000)
  harness.pam.control.disableTeam(false)
  harness.pam.control.failNext({ error: 'unknown_error', times: 3 })
  expect((await other.get('/api/v1/pam/groups')).status).toBe(502) // not the old list
  expect((await other.get('/api/v1/pam/groups')).status).toBe(200)
})

// shows: D-6.9
test('an unknown user is cached for a minute, and then looked up again', async () => {
  const login = 'nobody@example.com'
  for (const broker of [harness.broker, await harness.replica()]) {
    const answer = await broker.get('/api/v1/pam/me', { login })
    expect([answer.status, answer.body.errorCode]).toEqual([404, 'pam_user_unknown'])
  }
  expect(listCalls()).toBe(1)
  harness.advance(61_000)
  harness.pam.control.setUserGroups(login, [])
  expect((await harness.broker.get('/api/v1/pam/me', { login })).body.groups).toEqual([])
})

// shows: P-9.2, D-6.11
test('a team that does not exist is pam_misconfigured, not pam_user_unknown', async () => {
  harness.pam.control.failNext({ error: 'resource_does_not_exist', path: '/v1/teams/example-team/groups' })
  const answer = await harness.broker.get('/api/v1/pam/groups')
  expect([answer.status, answer.body.errorCode]).toEqual([502, 'pam_misconfigured'])
  expect(harness.broker.logLines().find(({ event }) => event === 'pam_call_failed')?.level).toBe('error')
})

// shows: D-6.12
test('resource_deprecated is logged as an error', async () => {
  fail('resource_deprecated')
  await harness.broker.get('/api/v1/pam/me')
  const lines = harness.broker.logLines().filter(({ event }) => event === 'pam_call_failed')
  expect(lines).toMatchObject([{ level: 'error', name: 'resource_deprecated' }])
})

test('html instead of a list is pam_unexpected, and the next lookup succeeds', async () => {
  const html = { 'Content-Type': 'text/html' }
  const fault = {
    kind: 'status',
    status: 200,
    body: '<html>sign in</html>',
    headers: html,
    path: LIST,
  } as const
  const broker = await shortlyStale()
  harness.pam.faults.set({ ...fault, times: 1 })
  const answer = await broker.get('/api/v1/pam/me')
  expect([answer.status, answer.body.errorCode]).toEqual([502, 'pam_unexpected'])
  expect((await broker.get('/api/v1/pam/me')).status).toBe(200)
  harness.advance(JUST_KEPT_MS)
  harness.pam.faults.set(fault)
  expect((await broker.get('/api/v1/pam/me')).body.meta).toMatchObject({ stale: true })
})

// shows: D-6.16
test('a cut connection is retried once, then the response is pam_timeout', async () => {
  harness.pam.faults.set({ kind: 'cut', path: LIST, times: 1 })
  expect((await harness.broker.get('/api/v1/pam/me')).status).toBe(200)
  harness.advance(600_000)
  harness.pam.faults.set({ kind: 'cut', path: LIST })
  const answer = await harness.broker.get('/api/v1/pam/me')
  expect([answer.status, answer.body.errorCode]).toEqual([504, 'pam_timeout'])
  expect(answer.text).not.toMatch(/127\.0\.0\.1|ECONN|socket/)
})

test('an endless or oversized response is an error within the time limit', async () => {
  const broker = await harness.replica({ totalTimeoutMs: 200 })
  harness.pam.faults.set({ kind: 'drip', everyMs: 150, path: LIST })
  expect((await broker.get('/api/v1/pam/me')).body.errorCode).toBe('pam_timeout')
  harness.pam.faults.set({ kind: 'huge', bytes: 5_000_000, path: LIST })
  expect((await harness.broker.get('/api/v1/pam/me')).body.errorCode).toBe('pam_unexpected')
})

// shows: D-1.4
test('without a Date header from the API, the broker’s clock is used', async () => {
  const server = await harness.stub(async (req, res) => {
    const answer = await harness.pam.send(req.method, req.url, {
      ...(req.body === undefined ? {} : { body: req.body }),
      headers: req.headers.authorization === undefined ? {} : { authorization: req.headers.authorization },
    })
    res.sendDate = false
    res.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(answer.text)
  })
  const broker = await harness.replica({ baseUrl: server.origin })
  for (let elapsed = 0; elapsed < 7_200_000; elapsed += 200_000) {
    await until(async () => {
      const { status, body } = await broker.get('/api/v1/pam/me')
      expect(status).toBe(200)
      // no call is under way
      return z.object({ stale: z.boolean() }).parse(body.meta).stale === false
    })
    harness.advance(200_000)
  }
  expect(harness.pam.control.counts().errors).toEqual({})
})

// shows: D-6.15
test('repeated service_offline responses open the circuit breaker, and other errors do not', async () => {
  const broker = await harness.replica({ breaker: { consecutiveFailures: 3, halfOpenAfterMs: 60_000 } })
  fail('unknown_error')
  for (let n = 0; n < 2; n++) expect((await broker.get('/api/v1/pam/me')).status).toBe(502)
  harness.pam.control.clearFailures()
  fail('service_offline')
  await broker.get('/api/v1/pam/me')
  const calls = listCalls()
  const answer = await broker.get('/api/v1/pam/me')
  expect([answer.status, answer.body.errorCode]).toEqual([503, 'pam_unavailable'])
  expect(answer.headers.get('retry-after')).toBe('60')
  expect(listCalls()).toBe(calls)
})
