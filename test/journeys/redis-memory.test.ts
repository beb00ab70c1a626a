import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { openBrowser } from '../support/browser.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { until } from '../support/until.ts'

/** What a flood of sign-ins that fail leaves in Redis. Sizes are Redis' own; nothing here depends on the time it takes. */
const MOST_BYTES = 2048
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

/** An attempt by its number, from an address and a browser of its own. */
const post = (path: string, n: number, body: object, address = `198.18.${n >> 8}.${n & 255}`) =>
  openBrowser(harness.gatehouse.url).post(path, body, { headers: { 'x-forwarded-for': address } })
const nameOf = (n: number) => `nobody.at.all.${n}@example.test`
const signIn = (n: number, address?: string) =>
  post(AUTHN, n, { username: nameOf(n), password: 'Not-The-Password-1' }, address)

async function inTurns(count: number, attempt: (n: number) => Promise<{ status: number }>) {
  const statuses = new Set<number>()
  let next = 0
  const one = async () => {
    while (next < count) statuses.add((await attempt(next++)).status)
  }
  await Promise.all(Array.from({ length: 10 }, one))
  return [...statuses]
}

/** What is there once the shared results, which live for seconds, are gone from Redis' memory too. */
async function left() {
  const keysLeft = async () => (await redis.keys('gatehouse:*')).filter((key) => key !== 'gatehouse:ping')
  const isSettled = async () =>
    (await redis.keys('gatehouse:lock:*')).length === 0 &&
    (await redis.dbsize()) <= (await keysLeft()).length + 1
  await until(isSettled, { what: 'the end of all shared results' })
  const keys = await keysLeft()
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

describe('a sign-in that fails', () => {
  test('leaves three small keys for a name that was never seen, and less than 2 kB', async () => {
    const attempts = 150
    await signIn(attempts) // whatever the first one costs
    const before = await left()
    expect(await inTurns(attempts, (n) => signIn(n))).toEqual([401])
    const after = await left()
    const added = after.sizes.length - before.sizes.length
    expect(added).toBe(3 * attempts)
    expect((after.bytes - before.bytes) / attempts).toBeLessThan(MOST_BYTES / 2)
    expect((after.used - before.used) / attempts).toBeLessThan(MOST_BYTES)
  })

  test('what stays of it for longer than a day is one key of 200 bytes', async () => {
    await signIn(1)
    const long = (await left()).sizes.filter(({ ttlMs }) => ttlMs > 86_400_000)
    expect(long).toHaveLength(1)
    expect(long[0]?.ttlMs).toBeLessThanOrEqual(MONTH_MS)
    expect(long[0]?.bytes).toBeLessThanOrEqual(200)
  })

  test('leaves for an address no more than one key, however many names are tried from it', async () => {
    expect(await inTurns(20, (n) => signIn(n, '203.0.113.5'))).toEqual([401])
    expect((await left()).sizes).toHaveLength(2 * 20 + 1)
  })

  test('leaves nothing more once a limit refuses it', async () => {
    const again = (n: number) => post(AUTHN, n, { username: nameOf(0), password: 'Not-The-Password-1' })
    await inTurns(8, again)
    const before = await left()
    expect(await inTurns(50, (n) => again(n + 8))).toEqual([429])
    const after = await left()
    expect(after.sizes.map(({ key }) => key).toSorted()).toEqual(
      before.sizes.map(({ key }) => key).toSorted(),
    )
  })

  test('for one user from very many browsers stays small: ended windows are removed', async () => {
    for (let n = 0; n < 8; n++) await signIn(0, `203.0.113.${n}`)
    const place = await largestKey()
    const fields = Object.entries(await redis.hgetall(place))
    expect(fields).toHaveLength(2 + 2 * 8) // the user's, and those of eight browsers
    const ended = fields.map(([name, value]) => [
      `${name}:former`,
      value.replace(/^\d+ \d+/, '1 1000000000000'),
    ])
    await redis.hset(place, Object.fromEntries(ended))
    await redis.hset(place, 'password:person:burst', '1 1000000000000 former')
    let browsers = 8
    await until(async () => {
      expect((await signIn(0, `203.0.113.${++browsers}`)).status).toBe(401)
      return (await redis.hlen(place)) === 2 + 2 * browsers
    })
  })
})

async function largestKey(): Promise<string> {
  const { sizes } = await left()
  return sizes.toSorted((one, other) => other.bytes - one.bytes)[0]?.key ?? ''
}

test.each([
  [
    'a recovery for a name that nobody has',
    `${AUTHN}/recovery/password`,
    (n: number) => ({ username: nameOf(n), factorType: 'EMAIL' }),
    200,
  ],
  [
    'a recovery token that is wrong',
    `${AUTHN}/recovery/token`,
    (n: number) => ({ recoveryToken: `wrong-${n}` }),
    401,
  ],
  ['an activation token that is wrong', AUTHN, (n: number) => ({ token: `wrong-${n}` }), 401],
])('%s leaves less than 1 kB', async (_name, path, body, status) => {
  expect(await inTurns(50, (n) => post(path, n, body(n)))).toEqual([status])
  const { bytes, sizes } = await left()
  expect(sizes.length).toBeGreaterThanOrEqual(50)
  expect(bytes / 50).toBeLessThan(1024)
})
