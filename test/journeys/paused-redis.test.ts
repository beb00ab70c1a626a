import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { type Browser, openBrowser } from '../support/browser.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/** A paused Redis executes queued commands after their callers got 503. The broker must roll all of them back. */
let harness: Harness
let redis: Redis
beforeAll(async () => {
  harness = await startHarness({
    tunables: (shipped) => ({
      ...shipped,
      store: { ...shipped.store, connectTimeoutMs: 3000, commandTimeoutMs: 3000 },
    }),
    constants: { authn: { lockWaitMs: 500 } },
  })
  redis = harness.redis.client()
})
afterAll(() => harness.stop())
beforeEach(async () => {
  harness.sandbox.reset()
  await redis.flushall()
})

async function visit(): Promise<Browser> {
  const browser = openBrowser(harness.gatehouse.url)
  await browser.get('/api/v1/sessions/me')
  return browser
}

const signIn = (browser: Browser) => browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
const keys = (kind: string) => redis.keys(`gatehouse:${kind}:*`)

test('a lock that is acquired late does not remain: the next attempt succeeds', async () => {
  const browser = await visit()
  harness.redis.pause()
  const answer = await signIn(browser)
  harness.redis.resume()
  expect(answer.status).toBe(503)
  expect((await signIn(browser)).json.status).toBe('SUCCESS') // on the same connection, after the late command
})

test('a session that is written late does not remain, nor does its index entry', async () => {
  const browser = await visit()
  const release = harness.sandbox.faults.authn.hold({ times: 1 })
  harness.clearUpstreamCalls()
  const pending = signIn(browser)
  await until(() => harness.upstreamCalls().length === 1)
  harness.redis.pause()
  release()
  const { status } = await pending
  harness.redis.resume()
  expect(status).toBe(503)
  await until(async () => (await keys('known')).length > 0, { what: 'the late writes of the step' })
  await until(async () => (await keys('sess')).length + (await keys('user-sess')).length === 0)
})
