import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createSeal } from '../../src/crypto/keys.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createVoidTimes } from '../../src/org-events/void-times.ts'
import { endSessionsOfAllUsers } from '../../src/revocation/end-all-sessions.ts'
import { createBoundSessions } from '../../src/session/bound-sessions.ts'
import type { Session } from '../../src/session/session.ts'
import { createSessionStore, newSessionId } from '../../src/session/session-store.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import { type OpenStoreOptions, openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { collectLog } from '../observability/collect-log.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const IDLE_MS = 60_000
const clock = { now: 0 }

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

/** The session store with these keys. Several can share a store. */
function sessionsOn(store: Store, ...keys: readonly Buffer[]) {
  clock.now = Date.now()
  const metrics = createMetrics()
  const masterKeys = keys.length === 0 ? [OLD] : keys
  const { log } = collectLog()
  const now = () => clock.now
  const common = { store, metrics, masterKeys, log, now }
  const sessions = createSessionStore({
    ...common,
    deviceCookie: { idIn: () => undefined },
    idleMs: IDLE_MS,
    absoluteMs: 10 * IDLE_MS,
    extendEveryMs: 1000,
    maxPerUser: 5,
    voidTimes: createVoidTimes({ store, masterKeys, ttlMs: IDLE_MS, isUsed: false }),
    boundSessions: createBoundSessions({ ...common, secure: true, allowedOrigins: [], isOffered: true }),
  })
  return {
    ...sessions,
    metrics,
    /** Replaces the session. */
    extend: async (id: string, session: Session) =>
      (await sessions.update({ id, session: newSession() }, () => session)) !== undefined,
  }
}

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

interface StoreUnderTest {
  readonly store: Store
  /** Milliseconds until the key expires, read without the store. */
  timeToLive(key: string): Promise<number>
}

async function embedded(): Promise<StoreUnderTest> {
  const entries = new Map<string, MemoryEntry>()
  return {
    store: createMemoryStore({ entries, monotonic: () => clock.now }),
    timeToLive: async (key) => (entries.get(key)?.expiresAt ?? 0) - clock.now,
  }
}

async function onRedis(): Promise<StoreUnderTest> {
  const client = server.client()
  return { store: await connect(), timeToLive: (key) => client.pttl(key) }
}

async function connect(options: Partial<OpenStoreOptions> = {}): Promise<Store> {
  const store = openStore({ url: server.url, connectTimeoutMs: 500, commandTimeoutMs: 500, ...options })
  await store.ping()
  return store
}

describe.each([
  ['the embedded store', embedded],
  ['Redis', onRedis],
])('on %s', (_name, open) => {
  let store: Store
  let timeToLive: StoreUnderTest['timeToLive']
  beforeAll(async () => {
    ;({ store, timeToLive } = await open())
  })
  afterAll(() => store.close())
  afterEach(() => store.deleteAll('gatehouse:'))

  test('a session is read as it was created and extended, until it is destroyed', async () => {
    const { create, read, extend, destroy } = sessionsOn(store)
    const [id, session] = [newSessionId(''), newSession()]
    expect(await read(id)).toBeUndefined()
    await create(id, session)
    await create('another', { ...session, userId: '00u2other' })
    expect(await read(id)).toMatchObject({ id, session })
    const extended = { ...session, lastSeenAtMs: clock.now + 1000 }
    expect(await extend(id, extended)).toBe(true)
    expect(await read(id)).toMatchObject({ id, session: extended })
    await destroy(id)
    expect(await read(id)).toBeUndefined()
    expect(await read('another')).toMatchObject({ session: { userId: '00u2other' } })
  })

  test('an extension does not restore a session that has ended', async () => {
    const { create, read, extend, destroy } = sessionsOn(store)
    await create('one', newSession())
    await destroy('one')
    expect(await extend('one', newSession())).toBe(false)
    expect(await read('one')).toBeUndefined()
  })

  test('the sessions of all users end, and are counted', async () => {
    const { create, read } = sessionsOn(store)
    const ids = ['one', 'two']
    for (const id of ids) await create(id, newSession())
    expect(await endSessionsOfAllUsers(store)).toBe(2)
    for (const id of ids) expect(await read(id)).toBeUndefined()
  })

  describe('a record', () => {
    const KEY = 'gatehouse:sess:one'
    const sealed = (value: unknown, keys = [OLD]) =>
      createSeal(keys, 'session').seal(JSON.stringify(value), 'gatehouse:sess:')
    const write = (raw: string, key = KEY) => store.set(key, raw, IDLE_MS)

    test('expires at the idle limit, and with an extension at the new one', async () => {
      const { create, extend } = sessionsOn(store)
      const session = newSession()
      const expectTtl = async (ttlMs: number) => {
        const actualMs = await timeToLive(KEY)
        expect(actualMs).toBeLessThanOrEqual(ttlMs)
        expect(actualMs).toBeGreaterThan(ttlMs - 10_000)
      }
      await create('one', session)
      await expectTtl(IDLE_MS)
      await extend('one', { ...session, lastSeenAtMs: clock.now + 30_000 })
      await expectTtl(IDLE_MS + 30_000)
    })

    test('that was sealed with a retired key is read; with a removed key it cannot be', async () => {
      const { create } = sessionsOn(store, OLD)
      const session = newSession()
      await create('one', session)
      expect(await sessionsOn(store, NEW, OLD).read('one')).toMatchObject({ session })
      expect(await sessionsOn(store, NEW).read('one')).toEqual({ session: undefined })
    })

    test('as a copy under another id is not valid, but exists', async () => {
      const { create, read } = sessionsOn(store)
      await create('one', newSession())
      await write((await store.get(KEY)) ?? '', 'gatehouse:sess:two')
      expect(await read('two')).toEqual({ session: undefined })
    })

    const record = () => ({ version: 1, id: 'one', session: newSession() })
    // shows: V1.5.2
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
    ])('%s cannot be read, and is counted and kept', async (_what, raw) => {
      const { read, metrics } = sessionsOn(store)
      await write(sealed(record()))
      expect(await read('one')).toMatchObject({ id: 'one', session: newSession() })
      const damaged = raw()
      await write(damaged)
      expect(await read('one')).toEqual({ session: undefined })
      expect(await metrics.registry.metrics()).toMatch(/unreadable_records_total\{kind="session"\} 1/)
      expect(await store.get(KEY)).toBe(damaged)
    })
  })
})

test('each operation is one wait for Redis in traces', async () => {
  const waits: unknown[] = []
  const store = await connect({
    async traced(reply) {
      waits.push(reply)
      return reply
    },
  })
  waits.length = 0
  const { create, read, update, destroy } = sessionsOn(store)
  await create('one', newSession())
  const loaded = await read('one')
  if (loaded?.session === undefined) throw new Error('no session')
  await update(loaded, () => newSession())
  await destroy('one')
  expect(waits).toHaveLength(4)
  await store.close()
})

// shows: V7.2.3
test('an id is 256 random bits and the tag of its user', () => {
  const [one, two] = [newSessionId('-tag'), newSessionId('-tag')]
  expect([one.slice(-4), two.slice(-4)]).toEqual(['-tag', '-tag'])
  expect(Buffer.from(one.slice(0, -4), 'base64url')).toHaveLength(32)
  expect(one).not.toBe(two)
})

test('without Redis, each operation is 503, names the cause but no argument, and is counted once', async () => {
  let failures = 0
  const store = await connect({ onFailure: () => (failures += 1) })
  const { create, read, extend, destroy } = sessionsOn(store)
  server.pause()
  try {
    const calls = [
      () => create('one', newSession()),
      () => read('one'),
      () => extend('one', newSession()),
      () => destroy('one'),
    ]
    for (const [index, call] of calls.entries()) {
      const error = await call().catch((thrown: unknown) => thrown)
      const cause = { outcome: expect.stringMatching(/^(timeout|unreachable)$/) }
      expect(error).toMatchObject({ status: 503, code: 'E0000009', cause })
      expect(JSON.stringify(error)).not.toContain('gatehouse:sess')
      expect(failures).toBe(index + 1)
    }
  } finally {
    server.resume()
  }
  await store.close()
})
