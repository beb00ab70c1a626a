import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { PAM_ERROR_NAMES } from '../../src/pam/upstream/pam-errors.ts'
import { until } from '../support/until.ts'
import { LOGIN } from './pam-broker.ts'
import { type PamHarness, startPamHarness } from './pam-harness.ts'

let harness: PamHarness
beforeEach(async () => {
  harness = await startPamHarness()
  harness.pam.control.setUserGroups(LOGIN, ['Platform Admins'])
})
afterEach(() => harness.close())

const SECURITY = 'a18d3843-0593-5dff-b310-f5c854b775df'
const ME = '/api/v1/pam/me'
const PATHS = [ME, '/api/v1/pam/groups', `/api/v1/pam/groups/${SECURITY}`]
const get = (path: string, maxAge: number | string, broker = harness.broker) =>
  broker.get(`${path}?maxAge=${maxAge}`)
const ageOf = (answer: { headers: Headers }) => Number(answer.headers.get('age'))
/** The number of first pages that were read, of both kinds of lists. */
const reads = () => {
  const { groupLists, userLists } = harness.pam.control.counts()
  return groupLists + (userLists[LOGIN] ?? 0)
}

test.each(PATHS)('%s: data that is older than maxAge is read again, other data is not', async (path) => {
  await harness.broker.get(path)
  harness.advance(30_000)
  expect(ageOf(await get(path, 30))).toBe(30)
  expect(ageOf(await get(path, 3600))).toBe(30)
  expect(reads()).toBe(1)
  const answer = await get(path, 29)
  expect([answer.status, ageOf(answer), answer.body.meta]).toMatchObject([200, 0, { stale: false }])
  expect(reads()).toBe(2)
})

test('a maxAge above the configured limits does not serve older data', async () => {
  await harness.broker.get(ME)
  harness.advance(301_000)
  harness.pam.faults.set({ kind: 'status', status: 500 })
  expect((await harness.broker.get(ME)).status).toBe(502)
  expect((await get(ME, 86_400)).status).toBe(503)
})

test.each(PAM_ERROR_NAMES)(
  '%s during a read for maxAge: 503 with Retry-After, never older data',
  async (error) => {
    await harness.broker.get(ME)
    harness.advance(30_000)
    const path = '/v1/teams/example-team/users'
    harness.pam.control.failNext({ error, path, times: 'always', retrySeconds: 100 })
    const { status, body, headers } = await get(ME, 10)
    if (error === 'resource_does_not_exist') {
      expect([status, body.errorCode]).toEqual([404, 'pam_user_unknown'])
    } else {
      expect([status, body.errorCode]).toEqual([503, expect.stringMatching(/^pam_/)])
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    }
  },
)

test('with maxAge and a closed rate-limit gate, the response is 503 with the time until it opens', async () => {
  await harness.broker.get(ME)
  await harness.broker.get('/api/v1/pam/groups')
  harness.advance(30_000)
  const path = '/v1/teams/example-team/users'
  harness.pam.control.failNext({ error: 'too_many_requests', path, retrySeconds: 60 })
  for (const one of PATHS) {
    const { status, body, headers } = await get(one, 10)
    expect([status, body.errorCode, headers.get('retry-after')]).toEqual([503, 'pam_rate_limited', '60'])
    expect((await harness.broker.get(one)).status).toBe(200)
  }
})

test('maxAge applies to unknown users, too', async () => {
  const login = 'nobody@example.com'
  expect((await harness.broker.get(ME, { login })).status).toBe(404)
  harness.pam.control.setUserGroups(login, [])
  harness.advance(10_000)
  expect((await harness.broker.get(ME, { login })).status).toBe(404)
  expect((await harness.broker.get(`${ME}?maxAge=5`, { login })).status).toBe(200)
})

test('concurrent requests on two replicas share one read that started after them', async () => {
  const other = await harness.replica()
  await harness.broker.get(ME)
  harness.advance(10_000)
  const before = harness.pam.requestLog.entries.length
  const release = harness.pam.faults.hold()
  const asking = Array.from({ length: 20 }, (_, n) => get(ME, 0, n % 2 === 0 ? harness.broker : other))
  await until(() => harness.pam.requestLog.entries.length > before)
  await until(() => harness.broker.received() + other.received() === 21)
  release()
  const answers = await Promise.all(asking)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(harness.pam.requestLog.entries.length).toBe(before + 2) // the user's status and list
})

test('a read that started more than maxAge before the request is not used', async () => {
  const other = await harness.replica()
  const calls = () => harness.pam.requestLog.entries.length
  await harness.broker.get('/api/v1/pam/groups') // mints a token
  const before = calls()
  const release = harness.pam.faults.hold()
  const first = get(ME, 0)
  await until(() => calls() > before)
  harness.advance(10_000)
  const later = [harness.broker, other].flatMap((broker) => [get(ME, 0, broker), get(ME, 60, broker)])
  await until(() => harness.broker.received() + other.received() === 6)
  release()
  expect((await first).status).toBe(200)
  expect((await Promise.all(later)).map((answer) => [answer.status, ageOf(answer)])).toEqual([
    [200, 0],
    [200, expect.any(Number)],
    [200, 0],
    [200, expect.any(Number)],
  ])
  expect(calls()).toBe(before + 4)
})

test('polling with maxAge=0 reads at most one page per second', async () => {
  harness.pam.control.generateGroups(1000)
  await harness.broker.get('/api/v1/pam/groups')
  const other = await harness.replica()
  const { groupPages } = harness.pam.control.counts()
  expect(groupPages).toBeGreaterThan(10)
  const statuses = new Map<number, number>()
  for (let elapsedMs = 0; elapsedMs < 30_000; elapsedMs += 500) {
    for (const broker of [harness.broker, other]) {
      const { status, headers } = await get('/api/v1/pam/groups', 0, broker)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status === 503) expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60)
    }
    harness.advance(500)
  }
  expect([...statuses.keys()].sort()).toEqual([200, 503])
  expect(harness.pam.control.counts().groupPages - groupPages).toBeLessThanOrEqual(30)
})

test.each([
  ['known', LOGIN, 200],
  ['unknown', 'nobody@example.com', 404],
])(
  'polling /me with maxAge=0 as a user who is %s uses at most a tenth of the rate limit',
  async (_, login, found) => {
    harness.pam.control.setRateLimit({ limit: 10_000, periodSeconds: 3600, parts: 1 })
    const other = await harness.replica()
    const statuses = new Set<number>()
    for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 500) {
      for (const broker of [harness.broker, other]) {
        const { status, headers } = await broker.get(`${ME}?maxAge=0`, { login })
        statuses.add(status)
        if (status === 503) expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(8)
      }
      harness.advance(500)
    }
    expect([...statuses].sort()).toEqual([found, 503])
    const lookups = harness.pam.requestLog.entries.filter(({ path }) => path.includes('/users/'))
    expect(lookups.length).toBeLessThanOrEqual((0.1 * 10_000) / 60 + 1)
  },
)

test('polling with maxAge=0 does not read more often if the clocks of PAM servers differ', async () => {
  const users = [LOGIN, 'other@example.com']
  const reads = new Map<string, number>()
  let calls = 0
  const api = await harness.stub((req, res) => {
    calls += 1
    const aheadMs = calls % 2 === 0 ? 30_000 : 0 // two servers alternate
    res.setHeader('Date', new Date(harness.pam.now() + aheadMs).toUTCString())
    res.setHeader('Content-Type', 'application/json')
    if (req.method === 'POST') {
      const expires_at = new Date(harness.pam.now() + 86_400_000).toISOString()
      res.end(JSON.stringify({ bearer_token: 'fake-token', expires_at, team_name: 'example-team' }))
    } else {
      reads.set(req.path, (reads.get(req.path) ?? 0) + 1)
      res.end('{"status":"ACTIVE","list":[]}')
    }
  })
  const broker = await harness.replica({ baseUrl: api.origin })
  for (let elapsedMs = 0; elapsedMs < 36_000; elapsedMs += 500) {
    for (const login of users) {
      const { status } = await broker.get(`${ME}?maxAge=0`, { login })
      expect([200, 503]).toContain(status)
    }
    harness.advance(500)
  }
  expect(reads.size).toBe(2 * users.length) // each user's status and list
  for (const count of reads.values()) expect(count).toBeLessThanOrEqual(5 + 1) // one per 7.2 s
})

test.each(['', '-1', '1.5', '1e3', '1s', '9999999999', '1&maxAge=1'])('maxAge=%s', async (maxAge) => {
  for (const path of PATHS) {
    const { status, body } = await get(path, maxAge)
    if (maxAge === '')
      expect(status).toBe(200) // as forms send an empty field
    else expect([status, body.errorSummary]).toEqual([400, 'Api validation failed: maxAge'])
  }
})

test('the ETag covers the data and whether it is stale, but not the times', async () => {
  const first = await harness.broker.get(ME)
  expect(first.headers.get('etag')).toMatch(/^W\/"/)
  harness.advance(30_000)
  const again = await harness.broker.get(`${ME}?maxAge=0`, {
    headers: { 'If-None-Match': first.headers.get('etag') ?? '' },
  })
  expect([again.status, again.text, again.headers.get('age')]).toEqual([304, '', '0'])
  expect(again.headers.get('cache-control')).toBe('private, no-cache')
  harness.pam.control.setUserGroups(LOGIN, ['Security'])
  harness.advance(30_000)
  expect((await get(ME, 0)).headers.get('etag')).not.toBe(first.headers.get('etag'))
})
