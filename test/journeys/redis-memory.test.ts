import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { openBrowser } from '../support/browser.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/** How much of Redis failed sign-ins use. Sizes are measured by Redis; no test depends on time. */
const MAX_BYTES = 2048
const MONTH_MS = 2_592_000_000
const AUTHN = '/api/v1/authn'

let harness: Harness
let redis: Redis
beforeAll(async () => {
  harness = await startHarness({
    env: { TRUST_PROXY: '127.0.0.1', LOG_LEVEL: 'error' },
    tunables: (shipped) => ({
      ...shipped,
      transaction: { ...shipped.transaction, sharedAnswerMs: 100 },
      recovery: { ...shipped.recovery, recoveryAnswerMs: 1 },
    }),
  })
  redis = harness.redis.client()
})
afterAll(() => harness.stop())
beforeEach(() => redis.flushall())

/** A request number `n`, from a new browser and its own address. */
const post = (path: string, n: number, body: object, address = `198.18.${n >> 8}.${n & 255}`) =>
  openBrowser(harness.gatehouse.url).post(path, body, { headers: { 'x-forwarded-for': address } })
const nameOf = (n: number) => `nobody.at.all.${n}@example.test`
const signIn = (n: number, address?: string) =>
  post(AUTHN, n, { username: nameOf(n), password: 'Not-The-Password-1' }, address)

async function tenAtATime(count: number, attempt: (n: number) => Promise<{ status: number }>) {
  const statuses = new Set<number>()
  let next = 0
  const worker = async () => {
    while (next < count) statuses.add((await attempt(next++)).status)
  }
  await Promise.all(Array.from({ length: 10 }, worker))
  return [...statuses]
}

/** The keys in Redis after the shared results have expired and their memory is free. */
async function measure() {
  const currentKeys = async () => (await redis.keys('gatehouse:*')).filter((key) => key !== 'gatehouse:ping')
  const areSharedResultsGone = async () =>
    (await redis.keys('gatehouse:lock:*')).length === 0 &&
    (await redis.dbsize()) <= (await currentKeys()).length + 1
  await until(areSharedResultsGone, { what: 'the expiry of all shared results' })
  const keys = await currentKeys()
  const sizes = await Promise.all(
    keys.map(async (key) => ({
      key,
      bytes: Number(await redis.memory('USAGE', key)),
      ttlMs: await redis.pttl(key),
    })),
  )
  return { sizes, bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0), used: await usedBytes() }
}

async function usedBytes(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1])
}

describe('a failed sign-in', () => {
  test('leaves three small keys for a new username, of less than 2 kB', async () => {
    const attempts = 150
    await signIn(attempts) // the first request may cost more
    const before = await measure()
    expect(await tenAtATime(attempts, (n) => signIn(n))).toEqual([401])
    const after = await measure()
    const added = after.sizes.length - before.sizes.length
    expect(added).toBe(3 * attempts)
    expect((after.bytes - before.bytes) / attempts).toBeLessThan(MAX_BYTES / 2)
    expect((after.used - before.used) / attempts).toBeLessThan(MAX_BYTES)
  })

  test('leaves one key of at most 200 bytes for longer than a day', async () => {
    await signIn(1)
    const long = (await measure()).sizes.filter(({ ttlMs }) => ttlMs > 86_400_000)
    expect(long).toHaveLength(1)
    expect(long[0]?.ttlMs).toBeLessThanOrEqual(MONTH_MS)
    expect(long[0]?.bytes).toBeLessThanOrEqual(200)
  })

  test('leaves one key per address, however many usernames are tried from it', async () => {
    expect(await tenAtATime(20, (n) => signIn(n, '203.0.113.5'))).toEqual([401])
    expect((await measure()).sizes).toHaveLength(2 * 20 + 1)
  })

  test('leaves no more keys when a limit refuses it', async () => {
    const again = (n: number) => post(AUTHN, n, { username: nameOf(0), password: 'Not-The-Password-1' })
    await tenAtATime(8, again)
    const before = await measure()
    expect(await tenAtATime(50, (n) => again(n + 8))).toEqual([429])
    const after = await measure()
    expect(after.sizes.map(({ key }) => key).toSorted()).toEqual(
      before.sizes.map(({ key }) => key).toSorted(),
    )
  })

  test('leaves a small key for one user with many browsers: ended windows are removed', async () => {
    for (let n = 0; n < 8; n++) await signIn(0, `203.0.113.${n}`)
    const largest = await largestKey()
    const fields = Object.entries(await redis.hgetall(largest))
    expect(fields).toHaveLength(2 + 2 * 8) // two of the user, two of each browser
    const ended = fields.map(([name, value]) => [
      `${name}:former`,
      value.replace(/^\d+ \d+/, '1 1000000000000'),
    ])
    await redis.hset(largest, Object.fromEntries(ended))
    await redis.hset(largest, 'password:person:burst', '1 1000000000000 former')
    let browsers = 8
    await until(async () => {
      expect((await signIn(0, `203.0.113.${++browsers}`)).status).toBe(401)
      return (await redis.hlen(largest)) === 2 + 2 * browsers
    })
  })
})

async function largestKey(): Promise<string> {
  const { sizes } = await measure()
  return sizes.toSorted((one, other) => other.bytes - one.bytes)[0]?.key ?? ''
}

test.each([
  [
    'a recovery for an unknown username',
    `${AUTHN}/recovery/password`,
    (n: number) => ({ username: nameOf(n), factorType: 'EMAIL' }),
    200,
  ],
  [
    'a wrong recovery token',
    `${AUTHN}/recovery/token`,
    (n: number) => ({ recoveryToken: `wrong-${n}` }),
    401,
  ],
  ['a wrong activation token', AUTHN, (n: number) => ({ token: `wrong-${n}` }), 401],
])('%s leaves less than 1 kB', async (_name, path, body, status) => {
  expect(await tenAtATime(50, (n) => post(path, n, body(n)))).toEqual([status])
  const { bytes, sizes } = await measure()
  expect(sizes.length).toBeGreaterThanOrEqual(50)
  expect(bytes / 50).toBeLessThan(1024)
})
