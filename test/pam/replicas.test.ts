import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createSecret } from '../../src/config/secret.ts'
import type { PamTunables } from '../../src/pam/create-pam.ts'
import { openStore } from '../../src/store/open-store.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { KEY, type PamBroker } from './pam-broker.ts'
import { type Journey, startJourney } from './pam-journey.ts'

/** Replicas with connections of their own to one real Redis. */
const REPLICAS = 8
const PEOPLE = Array.from({ length: 10 }, (_, n) => `person-${n}@example.com`)

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

let journey: Journey
let brokers: PamBroker[]
let closers: (() => Promise<void>)[]
beforeEach(async () => {
  await redis.client().flushall()
  await startReplicas(60_000)
})
afterEach(stopReplicas)

/** With this patience for the store: one that is merely slow on a busy machine does not count as away. */
async function startReplicas(patienceMs: number): Promise<void> {
  journey = await startJourney({ sleep: (ms) => delay(ms) })
  closers = []
  brokers = []
  for (let n = 0; n < REPLICAS; n++) {
    const store = openStore({
      url: createSecret(redis.url),
      connectTimeoutMs: patienceMs,
      commandTimeoutMs: patienceMs,
    })
    closers.push(() => store.close())
    brokers.push(await journey.replica({ store, tunables: withPatience }))
  }
  for (const login of PEOPLE) journey.pam.control.setUserGroups(login, ['Everyone', 'Security'])
}

/** The lock of a fetch lives by Redis's own clock: on a machine that stands still it must not end before the fetch. */
function withPatience(tunables: PamTunables): PamTunables {
  return { ...tunables, lists: { ...tunables.lists, maxTotalMs: 600_000 } }
}

async function stopReplicas(): Promise<void> {
  await journey.close()
  for (const close of closers) await close()
}

/** So many at once, spread over replicas and people: 80 are each person once on each replica. */
async function ask(count: number): Promise<Record<number, number>> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, n) => {
      const login = PEOPLE[Math.floor(n / REPLICAS) % PEOPLE.length]
      return brokers[n % REPLICAS]?.get('/api/v1/pam/me', { login })
    }),
  )
  const statuses: Record<number, number> = {}
  for (const answer of answers) statuses[answer?.status ?? 0] = (statuses[answer?.status ?? 0] ?? 0) + 1
  return statuses
}
const counts = () => journey.pam.control.counts()
const each = (times: number) => Object.fromEntries(PEOPLE.map((login) => [login, times]))

test('without Redis every replica mints its own token; with Redis they share again', async () => {
  await stopReplicas()
  await startReplicas(3000)
  await redis.kill()
  expect(await ask(REPLICAS)).toEqual({ 200: REPLICAS })
  expect(counts().tokensMinted).toBe(REPLICAS)
  await redis.restart()
  journey.advance(400_000)
  expect(await ask(80)).toEqual({ 200: 80 })
  expect(counts().tokensMinted).toBe(REPLICAS)
})

test('400 requests to cold replicas mint one token and fetch each user’s list once', async () => {
  expect(await ask(400)).toEqual({ 200: 400 })
  expect(counts()).toMatchObject({ tokensMinted: 1, userLists: each(1), requests: 1 + PEOPLE.length })
})

test('a token that expires under load is minted once, and no request fails', async () => {
  await ask(80)
  journey.advance(400_000)
  journey.pam.control.expireTokens()
  expect(await ask(160)).toEqual({ 200: 160 })
  expect(counts()).toMatchObject({ tokensMinted: 2, userLists: each(2) })
})

test('during a rate limit, requests with a stale list succeed, and few calls are sent', async () => {
  await ask(80)
  journey.advance(200_000)
  const before = counts().requests
  const limit = { error: 'too_many_requests', retrySeconds: 30, times: 'always' } as const
  journey.pam.control.failNext(limit)
  for (let round = 0; round < 3; round++) {
    expect(await ask(160)).toEqual({ 200: 160 })
    journey.advance(5000)
  }
  // Each of the lists may have been on its way when the first 429 came; nothing follows.
  expect(counts().requests - before).toBeLessThanOrEqual(PEOPLE.length)

  journey.pam.control.clearFailures()
  journey.advance(60_000)
  expect(await ask(160)).toEqual({ 200: 160 })
})

test('keys and values in Redis reveal nothing, and expire', async () => {
  await ask(80)
  await brokers[0]?.get('/api/v1/pam/groups', { login: PEOPLE[0] })
  const client = redis.client()
  const keys = await client.keys('*')
  const values = await Promise.all(keys.map((key) => client.get(key)))
  const marks = [
    ...journey.pam.control.bearerTokens(),
    ...[KEY.id, KEY.secret, 'example-team', ...PEOPLE],
    ...journey.pam.control.groups().flatMap(({ id, name }) => [id, name]),
  ]
  const raw = JSON.stringify([keys, values])
  expect(marks.filter((mark) => raw.includes(mark))).toEqual([])
  expect(keys.length).toBeGreaterThan(PEOPLE.length)
  for (const key of keys) {
    expect(key).toMatch(/^gatehouse:(pam-token|pam-groups|limit|lock):/)
    expect(await client.pttl(key)).toBeGreaterThan(0)
  }
})
