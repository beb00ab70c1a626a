import { beforeEach, describe, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../../src/errors.ts'
import { createCoalescing } from '../../../src/pam/upstream/coalescing.ts'
import { createMemoryStore } from '../../../src/store/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { startTimer } from '../../../src/upstream/timer.ts'
import { until } from '../../support/until.ts'

const LOCK = 'gatehouse:lock:x'
const pageLimits = { maxPages: 1, maxItems: 1, maxTotalMs: 30_000 }
const LEASE_MS = 3000
/** Longer than a fetch takes. */
const MAX_WAIT_MS = 35_000
function withEnd(): [end: (value: string) => void, ending: Promise<string>] {
  let end = (_: string) => {}
  const ending = new Promise<string>((resolve) => {
    end = resolve
  })
  return [end, ending]
}
const fetchOf = (value: string, read = async (): Promise<string | undefined> => undefined) => ({
  background: false,
  read,
  fetch: async () => value,
})

describe('the lock of a shared fetch', () => {
  let time: number
  const monotonic = () => time
  let store: Store
  beforeEach(() => {
    time = 0
    timers.clear()
    store = createMemoryStore({ monotonic })
  })

  /** Of the processes that live. */
  const timers = new Set<{ readonly atMs: number; readonly fire: () => void }>()
  const startFakeTimer = (fire: () => void, ms: number) => {
    const timer = { atMs: time + ms, fire }
    timers.add(timer)
    return () => timers.delete(timer)
  }
  const sleep = async (ms: number) => {
    time += ms
    for (const timer of timers) if (timer.atMs <= time && timers.delete(timer)) timer.fire()
  }
  /** Another process on the same store. Waiting advances the clock. */
  const replica = (changes: Partial<Store> = {}) =>
    createCoalescing<string>({
      store: { ...store, ...changes },
      monotonic,
      sleep,
      startTimer: startFakeTimer,
      pageLimits,
    })
  /** How long another replica waits for the lock before it fetches, by the clock. */
  async function waited(): Promise<number> {
    const from = time
    expect(await replica()(LOCK, fetchOf('other'))).toBe('other')
    return time - from
  }

  test('is released if the store set it but responded too late', async () => {
    const late = replica({
      async set(...given) {
        await store.set(...given)
        throw storeUnavailable()
      },
    })
    await expect(late(LOCK, fetchOf('one'))).rejects.toMatchObject({ status: 503 })
    expect(await waited()).toBe(0)
  })

  test('of another replica is not released by one that gave up', async () => {
    await store.set(LOCK, 'another', LEASE_MS)
    const late = replica({ set: () => Promise.reject(storeUnavailable()) })
    await expect(late(LOCK, fetchOf('one'))).rejects.toMatchObject({ status: 503 })
    expect(await store.get(LOCK)).toBe('another')
  })

  test('is released after a failed fetch: the failure is that of the caller, and the next replica fetches', async () => {
    const fetch = () => Promise.reject(new Error('failed'))
    await expect(replica()(LOCK, { ...fetchOf(''), fetch })).rejects.toThrow('failed')
    expect(await waited()).toBe(0)
  })

  test('holds others back until its owner has stored the value', async () => {
    await store.set(LOCK, 'another', MAX_WAIT_MS)
    const found = async () => (time >= 1000 ? 'stored' : undefined)
    expect(await replica()(LOCK, fetchOf('own', found))).toBe('stored')
    expect(time).toBeLessThan(1100)
  })

  test('of a process that was killed holds others back for three seconds', async () => {
    let fetched = 0
    const never = () => {
      fetched += 1
      return new Promise<string>(() => {})
    }
    void replica()(LOCK, { ...fetchOf(''), fetch: never })
    await until(() => fetched === 1)
    timers.clear()
    const ms = await waited()
    expect(ms).toBeGreaterThanOrEqual(LEASE_MS)
    expect(ms).toBeLessThan(LEASE_MS + 100)
  })

  test('is renewed while its owner fetches, but holds others back for the longest fetch at most', async () => {
    const [end, ending] = withEnd()
    const slow = replica()(LOCK, { ...fetchOf(''), fetch: () => ending })
    await until(() => timers.size > 0)
    const ms = await waited()
    expect(ms).toBeGreaterThanOrEqual(MAX_WAIT_MS)
    expect(ms).toBeLessThan(MAX_WAIT_MS + 100)
    end('slow')
    expect(await slow).toBe('slow')
    expect([timers.size, await waited()]).toEqual([0, 0])
  })

  test('a value that was stored while the lock was acquired is not fetched again', async () => {
    expect(
      await replica()(
        LOCK,
        fetchOf('own', async () => 'stored'),
      ),
    ).toBe('stored')
  })
})

// shows: D-3.5
test('concurrent callers of one process share one fetch, also its failure, but not that of a background fetch', async () => {
  const coalesce = createCoalescing<string>({
    store: createMemoryStore(),
    monotonic: () => 0,
    sleep: async () => {},
    startTimer,
    pageLimits,
  })
  let fetched = 0
  const fetch = () => Promise.reject(new Error(`failed ${++fetched}`))
  const calls = [false, false, true].map((background) =>
    coalesce(LOCK, { ...fetchOf(''), background, fetch }),
  )
  const reasons = (await Promise.allSettled(calls)).map((call) => 'reason' in call && call.reason.message)
  expect(reasons).toEqual(['failed 1', 'failed 1', 'failed 2'])
})
