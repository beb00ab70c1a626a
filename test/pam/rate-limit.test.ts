import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type Deferred, deferred } from '../support/deferred.ts'
import { until } from '../support/until.ts'
import { counted, LOGIN } from './pam-broker.ts'
import { type Journey, startJourney } from './pam-journey.ts'

let journey: Journey
/** While there is one, time stands still: whoever waits goes on waiting until it is let go. */
let standstill: (Deferred & { waiting: number }) | undefined
/** Waiting moves the common clock, so that a wait ends when it should and takes no time. */
const sleep = async (ms: number) => {
  if (standstill !== undefined) {
    standstill.waiting += 1
    return standstill.promise
  }
  if (ms > 40) journey.advance(ms)
  await delay(1)
}
const PEOPLE = Array.from({ length: 10 }, (_, n) => `person-${n}@example.com`)

beforeEach(async () => {
  standstill = undefined
  journey = await startJourney({ sleep })
  for (const login of [LOGIN, ...PEOPLE]) journey.pam.control.setUserGroups(login, ['Everyone'])
  await journey.broker.get('/api/v1/pam/groups') // holds a token, knows the API's time
})
afterEach(() => journey.close())

const limit = (retrySeconds: number) =>
  journey.pam.control.failNext({
    error: 'too_many_requests',
    path: '/v1/teams/example-team/users',
    retrySeconds,
  })
const me = (login = LOGIN, broker = journey.broker) => broker.get('/api/v1/pam/me', { login })

test('a long rate limit is 503 with Retry-After, and no replica sends further calls', async () => {
  const other = await journey.replica()
  limit(30)
  const answer = await me()
  expect([answer.status, answer.body.errorCode]).toEqual([503, 'pam_rate_limited'])
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(30)
  const calls = journey.pam.requestLog.entries.length
  for (const broker of [journey.broker, other])
    for (const login of PEOPLE) expect((await me(login, broker)).status).toBe(503)
  expect(journey.pam.requestLog.entries.length).toBe(calls)

  journey.advance(31_000)
  for (const broker of [other, journey.broker]) expect((await me(LOGIN, broker)).status).toBe(200)
})

test('callers wait for a rate limit that ends within 2 s', async () => {
  limit(1)
  const from = journey.pam.now()
  expect((await me()).status).toBe(200)
  expect(journey.pam.now() - from).toBeGreaterThanOrEqual(1000)
  expect(journey.pam.now() - from).toBeLessThanOrEqual(2000)
  expect(await counted(journey.broker.metrics, 'rate_limit_holds_total')).toEqual({
    'pam waited': 1,
    'pam probe': 1,
  })
})

test('callers do not wait for a rate limit that ends later', async () => {
  limit(3)
  const from = journey.pam.now()
  const answer = await me()
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '3'])
  expect(journey.pam.now()).toBe(from)
})

test('during a rate limit, stale lists are served', async () => {
  await me()
  journey.advance(200_000)
  limit(30)
  expect((await me('person-0@example.com')).status).toBe(503)
  for (let n = 0; n < 20; n++) {
    const answer = await me()
    expect([answer.status, answer.body.meta]).toMatchObject([200, { stale: true }])
  }
  expect(await counted(journey.broker.metrics, 'rate_limit_holds_total')).toMatchObject({ 'pam deferred': 1 })
})

test('after a rate limit, one call probes, and the others wait for its response', async () => {
  limit(30)
  await me()
  journey.advance(31_000)
  const before = journey.pam.requestLog.entries.length
  const gone = () => journey.pam.requestLog.entries.length - before
  const letGo = journey.pam.faults.hold({ times: 1 })
  const others = { ...deferred(), waiting: 0 }
  standstill = others
  const asking = PEOPLE.map((login) => me(login))
  await until(() => gone() + others.waiting === PEOPLE.length)
  expect([gone(), others.waiting]).toEqual([1, PEOPLE.length - 1])

  letGo()
  expect((await Promise.race(asking)).status).toBe(200)
  expect(gone()).toBe(1)
  standstill = undefined
  others.resolve()
  expect((await Promise.all(asking)).map(({ status }) => status)).toEqual(PEOPLE.map(() => 200))
  expect((await counted(journey.broker.metrics, 'rate_limit_holds_total'))['pam probe']).toBe(1)
})

test('when the rate limit runs low, background refreshes are deferred and users are served', async () => {
  const low = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '5' }
  const reset = String(Math.ceil(journey.pam.now() / 1000) + 600)
  await me()
  journey.advance(100_000)
  journey.pam.faults.set({
    kind: 'status',
    status: 200,
    body: { list: [] },
    headers: { ...low, 'X-RateLimit-Retry-At': reset, 'X-RateLimit-Reset': reset },
  })
  expect((await me('person-1@example.com')).status).toBe(200)
  const calls = journey.pam.requestLog.entries.length
  expect((await me()).body.meta).toMatchObject({ stale: true })
  expect((await me('person-2@example.com')).status).toBe(200)
  await until(
    async () => (await counted(journey.broker.metrics, 'rate_limit_holds_total'))['pam deferred'] === 1,
  )
  expect(journey.pam.requestLog.entries.length).toBe(calls + 1)
})

test('a used-up rate limit closes the gate before the first 429', async () => {
  journey.pam.control.setRateLimit({ limit: 2, periodSeconds: 60, parts: 1 })
  expect([(await me('person-1@example.com')).status, (await me('person-2@example.com')).status]).toEqual([
    200, 200,
  ])
  expect((await me('person-3@example.com')).body.errorCode).toBe('pam_rate_limited')
  expect(journey.pam.control.counts().errors).toEqual({})
})

test('a 429 without a valid time closes the gate for a second', async () => {
  for (const at of ['0', 'soon']) {
    journey.advance(10_000)
    journey.pam.faults.set({
      kind: 'status',
      status: 429,
      times: 1,
      headers: { 'X-RateLimit-Retry-At': at, 'X-RateLimit-Reset': at, 'X-RateLimit-Remaining': '0' },
    })
    expect((await me(`person-${at.length}@example.com`)).status).toBe(200)
  }
})

/** Seconds until then, as one of the forms in which servers say it. */
const FORMS: Record<string, (seconds: number) => Record<string, string>> = {
  'Retry-At in milliseconds': (seconds) => ({ 'X-RateLimit-Retry-At': String(afterMs(seconds)) }),
  'Reset in milliseconds': (seconds) => ({ 'X-RateLimit-Reset': String(afterMs(seconds)) }),
  'a Retry-At before Reset': (seconds) => ({
    'X-RateLimit-Retry-At': String(afterMs(seconds) / 1000),
    'X-RateLimit-Reset': String(afterMs(seconds + 200) / 1000),
  }),
  'a Reset before Retry-At': (seconds) => ({
    'X-RateLimit-Retry-At': String(afterMs(seconds + 200) / 1000),
    'X-RateLimit-Reset': String(afterMs(seconds) / 1000),
  }),
  'Retry-After as a number': (seconds) => ({
    'Retry-After': String(seconds),
    'X-RateLimit-Retry-At': '0',
    'X-RateLimit-Reset': '0',
  }),
  'Retry-After as a date': (seconds) => ({
    'Retry-After': new Date(afterMs(seconds)).toUTCString(),
    'X-RateLimit-Retry-At': '0',
    'X-RateLimit-Reset': '0',
  }),
}
const afterMs = (seconds: number) => journey.pam.now() + seconds * 1000

test.each(Object.keys(FORMS))('%s is understood, even if the broker’s clock is wrong', async (form) => {
  for (const skewMs of [0, 3_600_000, -3_600_000]) {
    const broker = await journey.replica({ now: () => journey.pam.now() + skewMs })
    const headers = FORMS[form]?.(30) ?? {}
    journey.pam.faults.set({ kind: 'status', status: 429, times: 1, headers })
    const answer = await me('person-1@example.com', broker)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30'])
    journey.advance(30_000)
    expect((await me('person-1@example.com', broker)).status).toBe(200)
    journey.advance(901_000)
  }
})

test('jitter delays the opening of the gate by up to a second', async () => {
  const broker = await journey.replica({ random: () => 0.999 })
  const from = journey.pam.now()
  limit(30)
  expect((await me(LOGIN, broker)).status).toBe(503)
  journey.advance(28_500)
  expect((await me(LOGIN, broker)).headers.get('retry-after')).toBe('3') // 2 s would be waited for
  journey.advance(1000)
  expect((await me(LOGIN, broker)).status).toBe(200)
  expect(journey.pam.now() - from).toBe(30_999)
})

test('the gate is never closed for more than 5 min, jitter included', async () => {
  const broker = await journey.replica({ random: () => 0.999 })
  const tomorrow = String(afterMs(86_400) / 1000)
  const headers = { 'X-RateLimit-Retry-At': tomorrow, 'X-RateLimit-Reset': tomorrow }
  journey.pam.faults.set({ kind: 'status', status: 429, times: 1, headers })
  const answer = await me(LOGIN, broker)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '300'])
  journey.advance(300_000)
  expect((await me(LOGIN, broker)).status).toBe(200)
})
