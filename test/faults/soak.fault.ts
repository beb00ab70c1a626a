import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { type Browser, openBrowser } from '../support/browser.ts'
import { forgetTraffic } from '../support/recorded-traffic.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'
import { type Fleet, loginOf, startFleet, USER_ANSWER, USER_COUNT, USER_PASSWORD } from './fleet.ts'

/**
 * Users sign in, read their session and sign out, again and again, for `SOAK_MINUTES` (5). All keys
 * in Redis expire; the heap, open descriptors and the number of keys do not grow.
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

test(
  'heap, descriptors and Redis keys do not grow, and every key expires',
  async () => {
    let visits = await visitFor((MINUTES * MINUTE_MS) / 5)
    const before = await measure()
    visits += await visitFor((MINUTES * MINUTE_MS * 4) / 5)
    const after = await measure()
    process.stdout.write(`soak: ${JSON.stringify({ visits, before, after })}\n`)
    expect(after.heapMb - before.heapMb).toBeLessThan(GROWTH_MB)
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + CONCURRENT_USERS)
    expect(after.keys).toEqual(before.keys)
    expect(await keysWithoutTtl()).toEqual([])
  },
  (MINUTES + 10) * MINUTE_MS,
)

/** Each user visits at least once. */
async function visitFor(ms: number): Promise<number> {
  const endsAt = performance.now() + ms
  let visits = 0
  const visitor = async (first: number) => {
    for (let n = first; n < USER_COUNT || performance.now() < endsAt; n += CONCURRENT_USERS) {
      await visit(n % USER_COUNT)
      visits += 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_USERS }, (_, n) => visitor(n)))
  return visits
}

/** One for each user: a known device has keys that live for days. */
const browsers = new Map<number, Browser>()

async function visit(n: number): Promise<void> {
  const browser = browsers.get(n) ?? openBrowser(fleet.brokers[0]?.url ?? '')
  browsers.set(n, browser)
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
  forgetRecords(browser)
}

/** Half an hour of traffic and log lines would fill the memory of this process. */
function forgetRecords(browser: Browser): void {
  browser.received.length = 0
  forgetTraffic(browser.origin)
  for (const { output } of fleet.brokers) output.out = ''
}

async function measure() {
  const isOpen = (kind: string) => ['sess', 'txn', 'lock'].includes(kind)
  const ended = async () => !Object.keys(await countKeys()).some(isOpen)
  await until(ended, { timeoutMs: 60_000, what: 'every session, transaction and lock to end' })
  const { child } = fleet.brokers[0] ?? {}
  child?.kill('SIGUSR2')
  await fleet.heapMb() // the signal may arrive during this request
  const heapMb = Math.round(await fleet.heapMb())
  return { heapMb, descriptors: readdirSync(`/proc/${child?.pid}/fd`).length, keys: await countKeys() }
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
