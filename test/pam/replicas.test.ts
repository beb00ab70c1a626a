import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { connectStore, KEY, type PamBroker } from './pam-broker.ts'
import { type PamHarness, startPamHarness } from './pam-harness.ts'

/** Replicas with their own connections to one real Redis. */
const REPLICAS = 8
const USERS = Array.from({ length: 10 }, (_, n) => `user-${n}@example.com`)

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

let harness: PamHarness
let brokers: PamBroker[]
let closers: (() => Promise<void>)[]
beforeEach(async () => {
  await redis.client().flushall()
  harness = await startPamHarness({ sleep: (ms) => delay(ms) })
  closers = []
  brokers = []
  for (let n = 0; n < REPLICAS; n++) {
    const store = await connectStore(redis.url)
    closers.push(() => store.close())
    brokers.push(await harness.replica({ store, pageLimits: { maxTotalMs: 600_000 } }))
  }
  for (const login of USERS) harness.pam.control.setUserGroups(login, ['Everyone', 'Security'])
})
afterEach(async () => {
  await harness.close()
  for (const close of closers) await close()
})

/** Sends concurrent requests for all users to all replicas: 80 are one for each user on each replica. */
async function ask(count: number): Promise<Record<number, number>> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, n) => {
      const login = USERS[Math.floor(n / REPLICAS) % USERS.length]
      return brokers[n % REPLICAS]?.get('/api/v1/pam/me', { login })
    }),
  )
  const statuses: Record<number, number> = {}
  for (const answer of answers) statuses[answer?.status ?? 0] = (statuses[answer?.status ?? 0] ?? 0) + 1
  return statuses
}
const counts = () => harness.pam.control.counts()
const each = (times: number) => Object.fromEntries(USERS.map((login) => [login, times]))

test('400 requests to cold replicas mint one token and fetch each user’s list once', async () => {
  expect(await ask(400)).toEqual({ 200: 400 })
  expect(counts()).toMatchObject({ tokensMinted: 1, userLists: each(1), requests: 1 + USERS.length })
})

test('a token that expires under load is minted once, and no request fails', async () => {
  await ask(80)
  harness.advance(400_000)
  harness.pam.control.expireTokens()
  expect(await ask(160)).toEqual({ 200: 160 })
  expect(counts()).toMatchObject({ tokensMinted: 2, userLists: each(2) })
})

test('during a rate limit, requests with a stale list succeed, and few calls are sent', async () => {
  await ask(80)
  harness.advance(200_000)
  const before = counts().requests
  const limit = { error: 'too_many_requests', retrySeconds: 30, times: 'always' } as const
  harness.pam.control.failNext(limit)
  for (let round = 0; round < 3; round++) {
    expect(await ask(160)).toEqual({ 200: 160 })
    harness.advance(5000)
  }
  // Each list may have been requested before the first 429; nothing follows.
  expect(counts().requests - before).toBeLessThanOrEqual(USERS.length)

  harness.pam.control.clearFailures()
  harness.advance(60_000)
  expect(await ask(160)).toEqual({ 200: 160 })
})

test('keys and values in Redis reveal nothing, and expire', async () => {
  await ask(80)
  await brokers[0]?.get('/api/v1/pam/groups', { login: USERS[0] })
  const client = redis.client()
  const keys = await client.keys('*')
  const values = await Promise.all(keys.map((key) => client.get(key)))
  const marks = [
    ...harness.pam.control.bearerTokens(),
    ...[KEY.id, KEY.secret, 'example-team', ...USERS],
    ...harness.pam.control.groups().flatMap(({ id, name }) => [id, name]),
  ]
  const raw = JSON.stringify([keys, values])
  expect(marks.filter((mark) => raw.includes(mark))).toEqual([])
  expect(keys.length).toBeGreaterThan(USERS.length)
  for (const key of keys) {
    expect(key).toMatch(/^gatehouse:(pam-token|pam-groups|limit|lock):/)
    expect(await client.pttl(key)).toBeGreaterThan(0)
  }
})
