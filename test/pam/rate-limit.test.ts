import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { until } from '../support/until.ts'
import { counted } from './counted.ts'
import { LOGIN } from './pam-broker.ts'
import { type PamHarness, usePamHarness } from './pam-harness.ts'

/** Waiting advances the shared clock, so that waits take no real time. */
const sleep = async (ms: number) => {
  if (ms > 40) harness.advance(ms)
  await delay(1)
}
const USERS = Array.from({ length: 10 }, (_, n) => `user-${n}@example.com`)

const harness: PamHarness = usePamHarness(
  async ({ pam, broker }) => {
    for (const login of [LOGIN, ...USERS]) pam.control.setUserGroups(login, ['Everyone'])
    await broker.get('/api/v1/pam/groups') // now it has a token and knows the API's time
  },
  { sleep },
)

const limit = (retrySeconds: number) =>
  harness.pam.control.failNext({
    error: 'too_many_requests',
    path: '/v1/teams/example-team/users',
    retrySeconds,
  })
const me = (login = LOGIN, broker = harness.broker) => broker.get('/api/v1/pam/me', { login })

// shows: P-13.6, P-14.4, D-4.1, D-4.6
test('a long rate limit is 503 with Retry-After, and no replica sends further calls', async () => {
  const other = await harness.replica()
  limit(30)
  const answer = await me()
  expect([answer.status, answer.body.errorCode]).toEqual([503, 'pam_rate_limited'])
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(30)
  const calls = harness.pam.requestLog.entries.length
  for (const broker of [harness.broker, other])
    for (const login of USERS) expect((await me(login, broker)).status).toBe(503)
  expect(harness.pam.requestLog.entries.length).toBe(calls)

  harness.advance(31_000)
  for (const broker of [other, harness.broker]) expect((await me(LOGIN, broker)).status).toBe(200)
})

// shows: D-4.6
test('callers wait for a rate limit that ends within 2 s', async () => {
  limit(1)
  const from = harness.pam.now()
  expect((await me()).status).toBe(200)
  expect(harness.pam.now() - from).toBeGreaterThanOrEqual(1000)
  expect(harness.pam.now() - from).toBeLessThanOrEqual(2000)
  expect(await counted(harness.broker.metrics, 'rate_limit_holds_total')).toEqual({ 'pam waited': 1 })
})

// shows: D-4.6
test('during a rate limit, stale lists are served', async () => {
  await me()
  harness.advance(200_000)
  limit(30)
  expect((await me('user-0@example.com')).status).toBe(503)
  for (let n = 0; n < 20; n++) {
    const answer = await me()
    expect([answer.status, answer.body.meta]).toMatchObject([200, { stale: true }])
  }
  expect(await counted(harness.broker.metrics, 'rate_limit_holds_total')).toMatchObject({ 'pam refused': 2 })
})

// shows: P-14.4
test('after a rate limit, a replica sends one call, and more when the response says that they remain', async () => {
  limit(30)
  await me()
  harness.advance(31_000)
  const before = harness.pam.requestLog.entries.length
  const sent = () => harness.pam.requestLog.entries.length - before
  harness.pam.control.setRateLimit({ limit: 25, periodSeconds: 60, parts: 1 })
  const releaseFirst = harness.pam.faults.hold({ times: 1 })
  const asking = USERS.map((login) => me(login))
  await until(() => harness.broker.received() === 2 + USERS.length && sent() > 0)
  expect(sent()).toBe(1)
  const releaseNext = harness.pam.faults.hold({ times: 6 })
  releaseFirst()
  await until(() => sent() === 1 + 6) // a quarter of the 24 that remain
  releaseNext()
  for (const { status } of await Promise.all(asking)) expect(status).toBe(200)
})

// shows: P-14.1, P-14.2
test('when the rate limit runs low, background refreshes are deferred and users are served', async () => {
  const low = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '5' }
  const reset = String(Math.ceil(harness.pam.now() / 1000) + 600)
  await me()
  harness.advance(100_000)
  harness.pam.faults.set({
    kind: 'status',
    status: 200,
    body: { status: 'ACTIVE', list: [] },
    headers: { ...low, 'X-RateLimit-Retry-At': reset, 'X-RateLimit-Reset': reset },
  })
  expect((await me('user-1@example.com')).status).toBe(200)
  const calls = harness.pam.requestLog.entries.length
  expect((await me()).body.meta).toMatchObject({ stale: true })
  expect((await me('user-2@example.com')).status).toBe(200)
  await until(
    async () => (await counted(harness.broker.metrics, 'rate_limit_holds_total'))['pam refused'] === 1,
  )
  expect(harness.pam.requestLog.entries.length).toBe(calls + 1)
})

// shows: P-14.2, D-4.1
test('a used-up rate limit closes the API before the first 429', async () => {
  harness.pam.control.setRateLimit({ limit: 2, periodSeconds: 60, parts: 1 })
  expect([(await me('user-1@example.com')).status, (await me('user-2@example.com')).status]).toEqual([
    200, 200,
  ])
  expect((await me('user-3@example.com')).body.errorCode).toBe('pam_rate_limited')
  expect(harness.pam.control.counts().errors).toEqual({})
})

test('a 429 without a valid time closes the API for a second', async () => {
  for (const at of ['0', 'soon']) {
    harness.advance(10_000)
    harness.pam.faults.set({
      kind: 'status',
      status: 429,
      times: 1,
      headers: { 'X-RateLimit-Retry-At': at, 'X-RateLimit-Reset': at, 'X-RateLimit-Remaining': '0' },
    })
    expect((await me(`user-${at.length}@example.com`)).status).toBe(200)
  }
})

/** The header forms in which servers send a time, for a time in so many seconds. */
const FORMS: Record<string, (seconds: number) => Record<string, string>> = {
  // shows: D-4.4
  'Retry-At in milliseconds': (seconds) => ({ 'X-RateLimit-Retry-At': String(afterMs(seconds)) }),
  // shows: D-4.4
  'Reset in milliseconds': (seconds) => ({ 'X-RateLimit-Reset': String(afterMs(seconds)) }),
  // shows: P-14.4, D-4.2
  'a Retry-At before Reset': (seconds) => ({
    'X-RateLimit-Retry-At': String(afterMs(seconds) / 1000),
    'X-RateLimit-Reset': String(afterMs(seconds + 200) / 1000),
  }),
  // shows: P-14.3, D-4.2
  'a Reset before Retry-At': (seconds) => ({
    'X-RateLimit-Retry-At': String(afterMs(seconds + 200) / 1000),
    'X-RateLimit-Reset': String(afterMs(seconds) / 1000),
  }),
  // shows: D-4.4
  'Retry-After as a number': (seconds) => ({
    'Retry-After': String(seconds),
    'X-RateLimit-Retry-At': '0',
    'X-RateLimit-Reset': '0',
  }),
  'Retry-After of a page': (seconds) => ({
    'Retry-After': String(seconds),
    'Content-Type': 'text/html',
    'X-RateLimit-Retry-At': '0',
    'X-RateLimit-Reset': '0',
  }),
  // shows: D-4.4
  'Retry-After as a date': (seconds) => ({
    'Retry-After': new Date(afterMs(seconds)).toUTCString(),
    'X-RateLimit-Retry-At': '0',
    'X-RateLimit-Reset': '0',
  }),
}
const afterMs = (seconds: number) => harness.pam.now() + seconds * 1000

test.each(Object.keys(FORMS))('%s is understood, even if the broker’s clock is wrong', async (form) => {
  for (const skewMs of [0, 3_600_000, -3_600_000]) {
    const broker = await harness.replica({ now: () => harness.pam.now() + skewMs })
    const headers = FORMS[form]?.(30) ?? {}
    harness.pam.faults.set({ kind: 'status', status: 429, times: 1, headers })
    const answer = await me('user-1@example.com', broker)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30'])
    harness.advance(30_000)
    expect((await me('user-1@example.com', broker)).status).toBe(200)
    harness.advance(901_000)
  }
})

// shows: D-4.3
test('jitter delays the opening of the API by up to a second', async () => {
  const broker = await harness.replica({ random: () => 0.999 })
  const from = harness.pam.now()
  limit(30)
  expect((await me(LOGIN, broker)).status).toBe(503)
  harness.advance(28_500)
  expect((await me(LOGIN, broker)).headers.get('retry-after')).toBe('3') // it would wait for 2 s
  harness.advance(1000)
  expect((await me(LOGIN, broker)).status).toBe(200)
  expect(harness.pam.now() - from).toBe(30_999)
})

// shows: D-4.5
test('the API is never closed for more than 5 min, jitter included', async () => {
  const broker = await harness.replica({ random: () => 0.999 })
  const tomorrow = String(afterMs(86_400) / 1000)
  const headers = { 'X-RateLimit-Retry-At': tomorrow, 'X-RateLimit-Reset': tomorrow }
  harness.pam.faults.set({ kind: 'status', status: 429, times: 1, headers })
  const answer = await me(LOGIN, broker)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '300'])
  harness.advance(300_000)
  expect((await me(LOGIN, broker)).status).toBe(200)
})
