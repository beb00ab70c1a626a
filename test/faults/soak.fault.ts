import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { openBrowser } from '../support/browser.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'
import { type Fleet, loginOf, startFleet, USER_ANSWER, USER_COUNT, USER_PASSWORD } from './fleet.ts'

/**
 * Users sign in, read their session and sign out, again and again, for `SOAK_MINUTES` (5). All keys in Redis expire, and the heap
 * returns to its size.
 */

const MINUTE_MS = 60_000
const MINUTES = Number(process.env.SOAK_MINUTES ?? 5)
const CONCURRENT_USERS = 20
/** Permanent growth that is allowed: compiled code and the series of the metrics. */
const GROWTH_MB = 20

/** Collects garbage on SIGUSR2, so that the heap contains only live objects. */
const COLLECTOR = `
  import v8 from 'node:v8'
  import vm from 'node:vm'
  v8.setFlagsFromString('--expose-gc')
  const collect = vm.runInNewContext('gc')
  process.on('SIGUSR2', () => collect())
`

let redis: RedisServer
let client: Redis
let fleet: Fleet
beforeAll(async () => {
  redis = await startRedis()
  client = redis.client()
  fleet = await startFleet({
    redisUrl: redis.url,
    brokers: 1,
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(COLLECTOR)}` },
  })
})
afterAll(async () => {
  await fleet.stop()
  await redis.stop()
})

test('the heap does not grow, and every Redis key expires', async () => {
  let visits = await visitFor((MINUTES * MINUTE_MS) / 5)
  const heapBefore = await heapMb()
  visits += await visitFor((MINUTES * MINUTE_MS * 4) / 5)
  const heapAfter = await heapMb()
  const keys = await countKeys()
  process.stdout.write(`soak: ${JSON.stringify({ visits, heapBefore, heapAfter, keys })}\n`)
  expect(heapAfter - heapBefore).toBeLessThan(GROWTH_MB)
  expect(await keysWithoutTtl()).toEqual([])
  // limits and known devices live for days, one set per user; the keys of the visits are gone
  await until(async () => ((await countKeys()).sess ?? 0) + ((await countKeys()).txn ?? 0) === 0, {
    timeoutMs: 60_000,
    what: 'every session and transaction to end',
  })
})

async function visitFor(ms: number): Promise<number> {
  const endsAt = performance.now() + ms
  let visits = 0
  const visitor = async (first: number) => {
    for (let n = first; performance.now() < endsAt; n += CONCURRENT_USERS) {
      await visit(n % USER_COUNT)
      visits += 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_USERS }, (_, n) => visitor(n)))
  return visits
}

async function visit(n: number): Promise<void> {
  const browser = openBrowser(fleet.brokers[0]?.url ?? '')
  const options = { headers: { 'x-forwarded-for': `10.7.${n >> 8}.${n & 255}` } }
  await browser.get('/api/v1/sessions/me', options)
  const asked = await browser.post(
    '/api/v1/authn',
    { username: loginOf(n), password: USER_PASSWORD },
    options,
  )
  const path = new URL(verifyHref(asked, 'question')).pathname
  const stateToken = handleOf(asked)
  const done = await browser.post(path, { stateToken, answer: USER_ANSWER }, options)
  expect(done.json.status).toBe('SUCCESS')
  expect((await browser.get('/api/v1/sessions/me', options)).json.login).toBe(loginOf(n))
  expect((await browser.delete('/api/v1/sessions/me', options)).status).toBe(204)
}

async function heapMb(): Promise<number> {
  fleet.brokers[0]?.child.kill('SIGUSR2')
  return fleet.heapMb()
}

/** The number of keys of each kind. */
async function countKeys(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const key of await client.keys('*')) {
    const [, kind = ''] = key.split(':')
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

async function keysWithoutTtl(): Promise<string[]> {
  const keys = await client.keys('*')
  const times = await Promise.all(keys.map((key) => client.pttl(key)))
  return keys.filter((_, n) => times[n] === -1)
}
