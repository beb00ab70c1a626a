import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Redis } from 'ioredis'
import { createSeal } from '../../src/crypto/keys.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createVoidTimes } from '../../src/org-events/void-times.ts'
import { createSessionStore, newSessionId, type Session } from '../../src/session/session.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { collectLog } from '../observability/collect-log.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { until } from '../support/until.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const IDLE_MS = 60_000
const clock = { now: 0 }

let server: RedisServer
let redis: Redis
const opened: Store[] = []
beforeAll(async () => {
  server = await startRedis()
  redis = server.client()
})
afterAll(() => server.stop())
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
  await redis.flushall()
})

async function sessionsAt(url: string, keys: readonly Buffer[] = [OLD], traced?: Store['traced']) {
  clock.now = Date.now()
  const store = openStore({ url, connectTimeoutMs: 500, commandTimeoutMs: 500, traced })
  opened.push(store)
  await until(() => store.redis === undefined || store.redis.status === 'ready')
  const metrics = createMetrics({ processMetrics: false })
  const sessions = createSessionStore({
    store,
    metrics,
    masterKeys: keys,
    readDeviceId: () => undefined,
    idleMs: IDLE_MS,
    absoluteMs: 10 * IDLE_MS,
    extendEveryMs: 1000,
    maxPerUser: 5,
    voidTimes: createVoidTimes({ store, masterKeys: keys, ttlMs: IDLE_MS, isUsed: false }),
    log: collectLog().log,
    now: () => clock.now,
  })
  return { ...sessions, metrics }
}
const onRedis = (keys?: readonly Buffer[]) => sessionsAt(server.url, keys)

const newSession = (): Session => ({
  publicId: 'public-id',
  userId: '00u1person',
  login: 'ada@example.com',
  profile: { firstName: 'Ada' },
  amr: ['pwd'],
  loginHash: 'hash-of-login',
  deviceId: 'device',
  deviceHash: 'hash-of-device',
  userAgent: 'Test/1',
  createdAtMs: clock.now,
  authenticatedAtMs: clock.now,
  lastSeenAtMs: clock.now,
})

describe.each([
  ['MemoryStore', () => 'memory:'],
  ['connect-redis', () => server.url],
])('on %s', (_name, url) => {
  test('a session is read as it was created and extended, until it is destroyed', async () => {
    const { create, read, extend, destroy } = await sessionsAt(url())
    const [id, session] = [newSessionId(''), newSession()]
    expect(await read(id)).toBeUndefined()
    await create(id, session)
    await create('another', { ...session, userId: '00u2other' })
    expect(await read(id)).toMatchObject({ session })
    const extended = { ...session, lastSeenAtMs: clock.now + 1000 }
    expect(await extend(id, extended)).toBe(true)
    expect(await read(id)).toMatchObject({ session: extended })
    await destroy(id)
    expect(await read(id)).toBeUndefined()
    expect(await read('another')).toMatchObject({ session: { userId: '00u2other' } })
  })

  test('an extension does not restore a session that has ended', async () => {
    const { create, read, extend, destroy } = await sessionsAt(url())
    await create('one', newSession())
    await destroy('one')
    expect(await extend('one', newSession())).toBe(false)
    expect(await read('one')).toBeUndefined()
  })
})

test('each operation is one wait for Redis in traces', async () => {
  const waits: unknown[] = []
  const { create, read, extend, destroy } = await sessionsAt(server.url, [OLD], async (reply) => {
    waits.push(reply)
    return reply
  })
  await create('one', newSession())
  await read('one')
  await extend('one', newSession())
  await destroy('one')
  expect(waits).toHaveLength(4)
})

test('an id is 256 random bits and the tag of its user', () => {
  const [one, two] = [newSessionId('-tag'), newSessionId('-tag')]
  expect([one.slice(-4), two.slice(-4)]).toEqual(['-tag', '-tag'])
  expect(Buffer.from(one.slice(0, -4), 'base64url')).toHaveLength(32)
  expect(one).not.toBe(two)
})

describe('a record in Redis', () => {
  const KEY = 'gatehouse:sess:one'
  const sealed = (value: unknown, keys = [OLD]) =>
    createSeal(keys, 'session').seal(JSON.stringify(value), 'gatehouse:sess:')

  test('expires at the idle limit, and with an extension at the new one', async () => {
    const { create, extend } = await onRedis()
    const session = newSession()
    const expectTtl = async (ttlMs: number) => {
      const actualMs = await redis.pttl(KEY)
      expect(actualMs).toBeLessThanOrEqual(ttlMs)
      expect(actualMs).toBeGreaterThan(ttlMs - 10_000)
    }
    await create('one', session)
    await expectTtl(IDLE_MS)
    await extend('one', { ...session, lastSeenAtMs: clock.now + 30_000 })
    await expectTtl(IDLE_MS + 30_000)
  })

  test('that was sealed with a retired key is read; with a removed key it cannot be', async () => {
    const { create } = await onRedis([OLD])
    const session = newSession()
    await create('one', session)
    expect(await (await onRedis([NEW, OLD])).read('one')).toMatchObject({ session })
    expect(await (await onRedis([NEW])).read('one')).toEqual({ session: undefined })
  })

  test('as a copy under another id is not valid, but exists', async () => {
    const { create, read } = await onRedis()
    await create('one', newSession())
    await redis.copy(KEY, 'gatehouse:sess:two')
    expect(await read('two')).toEqual({ session: undefined })
  })

  const record = () => ({ version: 1, id: 'one', session: newSession() })
  test.each<[string, () => string]>([
    ['of another version', () => sealed({ ...record(), version: 2 })],
    ['without an id', () => sealed({ version: 1, session: newSession() })],
    ['without a session', () => sealed({ version: 1, id: 'one' })],
    ['that is null', () => sealed(null)],
    ['that was not sealed', () => JSON.stringify(record())],
    ['that was cut', () => sealed(record()).slice(0, 20)],
    ...Object.keys(newSession()).flatMap((field): [string, () => string][] => [
      [`without ${field}`, () => sealed({ ...record(), session: { ...newSession(), [field]: undefined } })],
      [`with a wrong ${field}`, () => sealed({ ...record(), session: { ...newSession(), [field]: true } })],
    ]),
  ])('%s cannot be read, and is counted and kept', async (_name, raw) => {
    const { read, metrics } = await onRedis()
    await redis.set(KEY, sealed(record()))
    expect(await read('one')).toMatchObject({ id: 'one', session: newSession() })
    const damaged = raw()
    await redis.set(KEY, damaged)
    expect(await read('one')).toEqual({ session: undefined })
    expect(await metrics.registry.metrics()).toMatch(/unreadable_records_total\{kind="session"\} 1/)
    expect(await redis.get(KEY)).toBe(damaged)
  })

  test('without Redis: 503, without the arguments of the command, and counted', async () => {
    const { create, read, destroy, metrics } = await onRedis()
    await create('one', newSession())
    server.pause()
    try {
      for (const call of [read('one'), destroy('one')]) {
        const error = await call.then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        expect(error).toMatchObject({ status: 503, code: 'E0000009' })
        expect(JSON.stringify(error)).not.toContain('gatehouse:sess')
      }
    } finally {
      server.resume()
    }
    expect(await metrics.registry.metrics()).toMatch(/store_failures_total 2/)
  })
})
