import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createSecret } from '../../../src/config/secret.ts'
import { storeUnavailable } from '../../../src/errors.ts'
import { createCoalescing } from '../../../src/pam/shared/coalescing.ts'
import { createFailFastStore } from '../../../src/store/fail-fast-store.ts'
import { createMemoryStore } from '../../../src/store/memory-store.ts'
import { openStore } from '../../../src/store/open-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type RedisServer, startRedis } from '../../support/redis-server.ts'
import { until } from '../../support/until.ts'

const LOCK = 'gatehouse:lock:x'
const LOCK_MS = 35_000
/** The longest fetch. */
const FETCH_MS = 30_000

describe('the lock of a shared fetch', () => {
  let time: number
  const monotonic = () => time
  let store: Store
  beforeEach(() => {
    time = 0
    store = createMemoryStore({ monotonic })
  })

  /** Another process on the same store. Waiting advances the clock. */
  const replica = (changes: Partial<Store> = {}) =>
    createCoalescing<string>({
      store: createFailFastStore({ store: { ...store, ...changes }, monotonic }),
      monotonic,
      sleep: async (ms) => {
        time += ms
      },
      lockMs: LOCK_MS,
      refreshPauseMs: 0,
    })
  const sharedFetch = (fetch: () => Promise<string>) => ({
    background: false,
    read: async () => undefined,
    fetch,
  })
  /** How long another replica waits for the lock, by the clock. */
  async function waited(): Promise<number> {
    const from = time
    expect(
      await replica().run(
        LOCK,
        sharedFetch(async () => 'other'),
      ),
    ).toBe('other')
    return time - from
  }

  test('is released if the store set it but responded too late', async () => {
    const late = replica({
      async set(...given) {
        await store.set(...given)
        throw storeUnavailable()
      },
    })
    expect(
      await late.run(
        LOCK,
        sharedFetch(async () => 'one'),
      ),
    ).toBe('one')
    expect(await waited()).toBe(0)
  })

  test('is released after a store failure during the fetch', async () => {
    let failing = false
    const failFast = createFailFastStore({
      store: {
        ...store,
        get: async (key) => {
          if (failing) throw storeUnavailable()
          return store.get(key)
        },
      },
      monotonic,
    })
    const one = createCoalescing<string>({
      store: failFast,
      monotonic,
      sleep: async () => undefined,
      lockMs: LOCK_MS,
      refreshPauseMs: 0,
    })
    const fetch = async () => {
      failing = true
      await failFast.get('something else').catch(() => undefined)
      return 'one'
    }
    expect(await one.run(LOCK, sharedFetch(fetch))).toBe('one')
    expect(await waited()).toBe(0)
  })

  test('of another replica is not released', async () => {
    await store.set(LOCK, 'another', LOCK_MS)
    const late = replica({ set: () => Promise.reject(storeUnavailable()) })
    expect(
      await late.run(
        LOCK,
        sharedFetch(async () => 'one'),
      ),
    ).toBe('one')
    expect(await store.get(LOCK)).toBe('another')
  })

  test('is kept for the longest fetch: a waiting replica does not fetch, and gets the failure', async () => {
    await store.set(LOCK, 'another', LOCK_MS)
    const failsAtLast = {
      get: async (key: string) =>
        key === `${LOCK}:another` && time > FETCH_MS ? '{"outcome":"no_answer"}' : store.get(key),
    }
    const waiting = replica(failsAtLast).run(
      LOCK,
      sharedFetch(async () => 'other'),
    )
    await expect(waiting).rejects.toThrow('no_answer')
  })

  test.each(['no JSON', '[]', '{"outcome":"none of ours"}', '{"outcome":7}'])(
    'a shared failure that cannot be read (%s) is ignored, and the replica keeps waiting',
    async (left) => {
      await store.set(LOCK, 'another', LOCK_MS)
      await store.set(`${LOCK}:another`, left, LOCK_MS)
      expect(await waited()).toBeGreaterThanOrEqual(FETCH_MS)
    },
  )
})

describe('a stalled Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())
  const open = () =>
    openStore({ url: createSecret(redis.url), connectTimeoutMs: 1000, commandTimeoutMs: 200 })
  let store: Store
  beforeEach(() => {
    store = open()
  })
  afterEach(() => store.close())

  test('sets the lock when it resumes, and then releases it', async () => {
    await until(() => store.ping().then(() => true), { what: 'a connection' })
    const commands: string[] = []
    const monitor = await redis.client().monitor()
    monitor.on('monitor', (_time: string, args: string[]) => commands.push(args.join(' ')))
    try {
      const monotonic = () => performance.now()
      const coalescing = createCoalescing<string>({
        store: createFailFastStore({ store, monotonic }),
        monotonic,
        sleep: async () => undefined,
        lockMs: LOCK_MS,
        refreshPauseMs: 0,
      })
      redis.pause()
      const fetch = { background: false, read: async () => undefined, fetch: async () => 'one' }
      expect(await coalescing.run(LOCK, fetch)).toBe('one')
      redis.resume()
      await until(() => commands.filter((command) => command.includes(LOCK)).length >= 2)
      await until(async () => (await redis.client().get(LOCK)) === null)
    } finally {
      redis.resume()
      monitor.disconnect()
    }
  })
})
