import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { type Browser, openBrowser } from '../support/browser.ts'
import { AMELIA, type House, PASSWORD, startHouse } from '../support/house.ts'
import { until } from '../support/until.ts'

/** A Redis that stood still carries out what was sent to it after the callers have had their 503. None of it stays. */
let house: House
let redis: Redis
beforeAll(async () => {
  house = await startHouse({
    tunables: (shipped) => ({
      ...shipped,
      store: { connectTimeoutMs: 3000, commandTimeoutMs: 3000 },
      transaction: { ...shipped.transaction, stepWaitMs: 500 },
    }),
  })
  redis = house.redis.client()
})
afterAll(() => house.stop())
beforeEach(async () => {
  house.sandbox.reset()
  await redis.flushall()
})

async function visit(): Promise<Browser> {
  const browser = openBrowser(house.gatehouse.url)
  await browser.get('/api/v1/sessions/me')
  return browser
}

const signIn = (browser: Browser) => browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
const keys = (kind: string) => redis.keys(`gatehouse:${kind}:*`)

test('a claim that comes late leaves no lock: who tries again gets in', async () => {
  const browser = await visit()
  house.redis.pause()
  const answer = await signIn(browser)
  house.redis.resume()
  expect(answer.status).toBe(503)
  expect((await signIn(browser)).json.status).toBe('SUCCESS') // by the same connection: behind the claim
})

test('a session that is written late does not stay, nor its entry', async () => {
  const browser = await visit()
  const letGo = house.sandbox.faults.authn.hold({ times: 1 })
  house.forget()
  const answering = signIn(browser)
  await until(() => house.upstreamCalls().length === 1)
  house.redis.pause()
  letGo()
  const { status } = await answering
  house.redis.resume()
  expect(status).toBe(503)
  await until(async () => (await keys('known')).length > 0, { what: 'the step’s writes, late' })
  await until(async () => (await keys('sess')).length + (await keys('user-sess')).length === 0)
})
