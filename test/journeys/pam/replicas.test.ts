import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { startTimer } from '../../../src/upstream/timer.ts'
import { KEY, type PamBroker } from '../../pam/pam-broker.ts'
import { usePamHarness } from '../../pam/pam-harness.ts'
import { useRedis } from '../../support/redis-server.ts'
import { connectStore } from './connect-store.ts'

/** Replicas with their own connections to one real Redis. */
const REPLICAS = 8
const USERS = Array.from({ length: 10 }, (_, n) => `user-${n}@example.com`)

/** A busy machine takes longer than a user would wait. */
const PATIENT = { pageLimits: { maxTotalMs: 600_000 }, maxWaitMs: 600_000 }

const redis = useRedis()
let brokers: PamBroker[]
const harness = usePamHarness(
  async ({ pam, replicaOn }) => {
    await redis.client().flushall()
    brokers = []
    for (let n = 0; n < REPLICAS; n++) brokers.push(await replicaOn(await connectStore(redis.url), PATIENT))
    for (const login of USERS) pam.control.setUserGroups(login, ['Everyone', 'Security'])
  },
  // the Redis is real, and so are the leases of its locks, which a timer renews
  { sleep: (ms) => delay(ms), startTimer },
)

/**
 * Sends concurrent requests for all users to all replicas: 80 are one for each user on each
 * replica.
 */
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

// shows: P-10.3, D-1.1, D-1.2, V2.4.1
test('400 requests to cold replicas mint one token and fetch each user’s list once', async () => {
  expect(await ask(400)).toEqual({ 200: 400 })
  expect(counts()).toMatchObject({ tokensMinted: 1, userLists: each(1), requests: 1 + USERS.length })
})

// shows: P-10.2, D-1.1, V14.2.4
test('keys, values, logs and metrics contain no token, key, group or user name; keys expire', async () => {
  await ask(80)
  await brokers[0]?.get('/api/v1/pam/groups', { login: USERS[0] })
  harness.pam.control.failNext({ error: 'unknown_error', times: 3 })
  await brokers[0]?.get('/api/v1/pam/me', { login: 'nobody@example.com' })
  const client = redis.client()
  const keys = await client.keys('*')
  const values = await Promise.all(keys.map((key) => client.get(key)))
  const marks = [
    ...harness.pam.control.bearerTokens(),
    KEY.id,
    KEY.secret,
    'example-team',
    'nobody@example.com',
    ...USERS,
    ...harness.pam.control.groups().flatMap(({ id, name }) => [id, name]),
  ]
  const logs = brokers.map((broker) => broker.logText())
  const metrics = await Promise.all(brokers.map((broker) => broker.metrics.registry.metrics()))
  const seen = JSON.stringify([keys, values, logs, metrics])
  expect(marks.filter((mark) => seen.includes(mark))).toEqual([])
  expect(keys.length).toBeGreaterThan(USERS.length)
  for (const key of keys) {
    expect(key).toMatch(/^gatehouse:(pam-token|pam-groups|limit|lock):/)
    expect(await client.pttl(key)).toBeGreaterThan(0)
  }
})
