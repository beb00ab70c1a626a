import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { openBrowser } from '../support/browser.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'
import { CROWD, CROWD_ANSWER, CROWD_PASSWORD, crowdLogin, type Fleet, startFleet } from './fleet.ts'

/**
 * People sign in, look at their session, and out again, round after round, for `SOAK_MINUTES` (5). What lies in Redis
 * has an end, all of it, and the heap comes back to where it was.
 */

const MINUTE_MS = 60_000
const MINUTES = Number(process.env.SOAK_MINUTES ?? 5)
const AT_ONCE = 20
/** What may stay for good: compiled code and the series of the metrics. */
const GROWTH_MB = 20

/** Collects garbage when told to (SIGUSR2), so that what is left is what is held. */
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

test('heap and Redis keys return to where they were, and every key has a time to live', async () => {
  let visits = await visitFor((MINUTES * MINUTE_MS) / 5)
  const heapBefore = await heapMb()
  visits += await visitFor((MINUTES * MINUTE_MS * 4) / 5)
  const heapAfter = await heapMb()
  const keys = await kinds()
  process.stdout.write(`soak: ${JSON.stringify({ visits, heapBefore, heapAfter, keys })}\n`)
  expect(heapAfter - heapBefore).toBeLessThan(GROWTH_MB)
  expect(await withoutEnd()).toEqual([])
  // what counts attempts and knows browsers lives for days, bounded by the people; what belongs to a visit is over
  await until(async () => ((await kinds()).sess ?? 0) + ((await kinds()).txn ?? 0) === 0, {
    timeoutMs: 60_000,
    what: 'the end of every session and transaction',
  })
})

async function visitFor(ms: number): Promise<number> {
  const endsAt = performance.now() + ms
  let visits = 0
  const visitor = async (first: number) => {
    for (let n = first; performance.now() < endsAt; n += AT_ONCE) {
      await visit(n % CROWD)
      visits += 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => visitor(n)))
  return visits
}

async function visit(n: number): Promise<void> {
  const browser = openBrowser(fleet.brokers[0]?.url ?? '')
  const options = { headers: { 'x-forwarded-for': `10.7.${n >> 8}.${n & 255}` } }
  await browser.get('/api/v1/sessions/me', options)
  const asked = await browser.post(
    '/api/v1/authn',
    { username: crowdLogin(n), password: CROWD_PASSWORD },
    options,
  )
  const path = new URL(verifyHref(asked, 'question')).pathname
  const stateToken = handleOf(asked)
  const done = await browser.post(path, { stateToken, answer: CROWD_ANSWER }, options)
  expect(done.json.status).toBe('SUCCESS')
  expect((await browser.get('/api/v1/sessions/me', options)).json.login).toBe(crowdLogin(n))
  expect((await browser.delete('/api/v1/sessions/me', options)).status).toBe(204)
}

async function heapMb(): Promise<number> {
  fleet.brokers[0]?.child.kill('SIGUSR2')
  return (await fleet.held()).heapMb
}

/** How many keys of each kind there are. */
async function kinds(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const key of await client.keys('*')) {
    const [, kind = ''] = key.split(':')
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

async function withoutEnd(): Promise<string[]> {
  const keys = await client.keys('*')
  const times = await Promise.all(keys.map((key) => client.pttl(key)))
  return keys.filter((_, n) => times[n] === -1)
}
