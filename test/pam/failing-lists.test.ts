import { afterEach, expect, test } from '@jest/globals'
import type { Store } from '../../src/store/store.ts'
import { LOGIN } from './pam-broker.ts'
import { type PamHarness, startPamHarness } from './pam-harness.ts'

let harness: PamHarness
afterEach(() => harness.close())

const POLL_MS = 500
const FAILING = 'failing@example.com'
const path = `/v1/teams/example-team/users/${encodeURIComponent(FAILING)}/groups`
const statusOf = async (login: string) => (await harness.broker.get('/api/v1/pam/me', { login })).status

/** Polls for that long, by the harness's clock. */
async function poll(seconds: number, look: () => Promise<unknown>) {
  for (let elapsedMs = 0; elapsedMs < seconds * 1000; elapsedMs += POLL_MS) {
    await look()
    harness.advance(POLL_MS)
  }
}

test.each([
  { status: 403, body: { error: 'forbidden_error' }, calls: 1 },
  { status: 200, body: 'not a list', calls: 1 },
  { status: 500, body: {}, calls: 3 },
])('a list that keeps failing ($status) is not read on each poll', async ({ calls, ...answer }) => {
  harness = await startPamHarness()
  for (const login of [LOGIN, FAILING]) harness.pam.control.setUserGroups(login, [])
  harness.pam.faults.set({ kind: 'status', path, ...answer })
  const sent = () => harness.pam.requestLog.entries.filter((entry) => entry.path === path).length

  await poll(60, async () => {
    expect(await statusOf(FAILING)).toBe(502)
    expect(await statusOf(LOGIN)).toBe(200)
  })
  // Five without a pause, some while the pause grows, then one in 5 s.
  expect(sent() / calls).toBeLessThanOrEqual(5 + 4 + 60 / 5)
  expect(sent() / calls).toBeGreaterThanOrEqual(60 / 5)

  harness.pam.faults.clear()
  harness.advance(5000)
  expect(await statusOf(FAILING)).toBe(200)
})

test('a few failures cause no pause, and a success resets the counter', async () => {
  harness = await startPamHarness()
  harness.pam.control.setUserGroups(FAILING, [])
  for (let round = 0; round < 3; round++) {
    harness.pam.faults.set({ kind: 'status', path, status: 403, body: { error: 'forbidden_error' } })
    for (let n = 0; n < 4; n++) expect(await statusOf(FAILING)).toBe(502)
    harness.pam.faults.clear()
    expect(await statusOf(FAILING)).toBe(200)
    harness.advance(400_000)
  }
})

test('while a long list waits for the rate limit, polling does not load its stored pages each time', async () => {
  harness = await startPamHarness()
  let chars = 0
  const counting = new Proxy(harness.store.store, {
    get: (target, name: keyof Store) =>
      name !== 'get'
        ? Reflect.get(target, name)
        : async (key: string) => {
            const value = await target.get(key)
            chars += value?.length ?? 0
            return value
          },
  })
  const broker = await harness.replica({ store: counting })
  harness.pam.control.generateGroups(3000)
  const { groupPages } = harness.pam.control.counts()
  harness.pam.control.setRateLimit({ limit: 20, periodSeconds: 200, parts: 1 })
  const look = async () => {
    const { status, body, headers } = await broker.get('/api/v1/pam/groups')
    expect([status, body.errorCode]).toEqual([503, 'pam_rate_limited'])
    return Number(headers.get('retry-after'))
  }
  await look()
  expect(harness.pam.control.counts().groupPages).toBeGreaterThan(groupPages + 10)
  chars = 0
  await look()
  const charsOnce = chars
  await poll(60, look)
  expect(chars).toBeLessThan((5 + 4 + 60 / 5) * charsOnce)

  const retryAfterS = await look()
  expect(retryAfterS).toBeGreaterThan(60)
  expect(retryAfterS).toBeLessThanOrEqual(141)
  harness.advance(retryAfterS * 1000)
  expect((await broker.get('/api/v1/pam/groups')).status).not.toBe(502)
})

test('a long list that fails on its last page uses about a tenth of the rate limit, however often it is polled', async () => {
  harness = await startPamHarness()
  const pages = 110
  let calls = 0
  let isBroken = true
  const api = await harness.stub((req, res) => {
    const page = Number(new URLSearchParams(req.query).get('offset') ?? 1)
    res.setHeader('Date', new Date(harness.pam.now()).toUTCString())
    res.setHeader('Content-Type', 'application/json')
    calls++
    if (req.method === 'POST') {
      const expires_at = new Date(harness.pam.now() + 86_400_000).toISOString()
      res.end(JSON.stringify({ bearer_token: 'fake-token', expires_at, team_name: 'example-team' }))
    } else if (page < pages) {
      res.setHeader('Link', `<?offset=${page + 1}>; rel="next"`)
      res.end('{"list":[]}')
    } else res.end(isBroken ? '<html>' : '{"list":[]}')
  })
  const broker = await harness.replica({ baseUrl: api.origin })
  const statusNow = async () => (await broker.get('/api/v1/pam/groups')).status

  const hours = 2
  for (let elapsedMs = 0; elapsedMs < hours * 3_600_000; elapsedMs += 30_000) {
    expect(await statusNow()).toBe(502)
    harness.advance(30_000)
  }
  // Without limit headers, 10,000 calls an hour are assumed. The pause grows within a few reads.
  expect(calls).toBeLessThanOrEqual(hours * 1000 + 4 * pages)
  expect(calls).toBeGreaterThan((hours * 1000) / 2)

  isBroken = false
  harness.advance(900_000)
  expect(await statusNow()).toBe(200)
})
