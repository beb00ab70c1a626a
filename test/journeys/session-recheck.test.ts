import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { type Browser, openBrowser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/** SESSION_RECHECK_MINUTES, through the broker's own connection to Okta. */

const ME = '/api/v1/sessions/me'
const MINUTE_MS = 60_000

let aheadMs = 0
let harness: Harness
let other: Gatehouse
let redis: Redis
beforeAll(async () => {
  harness = await startHarness({
    env: { SESSION_RECHECK_MINUTES: '10' },
    now: () => Date.now() + aheadMs,
  })
  other = await harness.replica()
  redis = harness.redis.client()
})
afterAll(() => harness.stop())
beforeEach(async () => {
  harness.sandbox.reset()
  await endIntervals()
})

/** Redis has a clock of its own. */
async function endIntervals() {
  const keys = await redis.keys('gatehouse:recheck:*')
  await Promise.all(keys.map((key) => redis.del(key)))
}

/** A session that is due for a check at its next use. */
async function dueSession() {
  const browser = await harness.visit()
  await browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  const userId = String((await browser.get(ME)).json.userId)
  aheadMs += 10 * MINUTE_MS + 1
  return { browser, userId, path: `/api/v1/users/${userId}` }
}

function answer(path: string, status: number, body: object) {
  harness.sandbox.faults.authn.set({ kind: 'status', status, path, body })
}

const use = async (browser: Browser) => (await browser.get('/forward-auth')).status
const lookUps = (path: string) => harness.upstreamCalls().filter((call) => call.path === path)

test('a suspended user loses the session on every replica, after the request that caused the check', async () => {
  const { browser, userId, path } = await dueSession()
  const elsewhere = openBrowser(other.url)
  await elsewhere.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  expect((await elsewhere.get(ME)).status).toBe(200)
  answer(path, 200, { id: userId, status: 'SUSPENDED' })
  expect(await use(browser)).toBe(200)
  await until(async () => (await browser.get(ME)).status === 404)
  expect((await elsewhere.get(ME)).status).toBe(404)
  const [call, ...more] = lookUps(path)
  expect(more).toEqual([])
  expect(call?.headers.authorization).toMatch(/^SSWS /)
  expect(call?.headers).not.toHaveProperty('x-forwarded-for')
  await until(() => harness.gatehouse.logText().includes('sessions_revoked'))
  const line = harness.gatehouse.logLines().find(({ event }) => event === 'sessions_revoked')
  expect(line).toMatchObject({ userId, reason: 'by_org', audit: true })
  expect(line).not.toHaveProperty('eventId')
})

test('without a use that extends it, nothing is looked up', async () => {
  const { browser, path } = await dueSession()
  expect((await browser.get(ME)).status).toBe(200)
  expect(lookUps(path)).toEqual([])
})
