import { beforeEach, describe, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../../src/errors.ts'
import { createCoalescing } from '../../../src/pam/upstream/coalescing.ts'
import { createMemoryStore } from '../../../src/store/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'

const LOCK = 'gatehouse:lock:x'
const pageLimits = { maxPages: 1, maxItems: 1, maxTotalMs: 30_000 }
/** Longer than a fetch takes. */
const LOCK_MS = 35_000
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
    store = createMemoryStore({ monotonic })
  })

  /** Another process on the same store. Waiting advances the clock. */
  const replica = (changes: Partial<Store> = {}) => {
    const sleep = async (ms: number) => {
      time += ms
    }
    return createCoalescing<string>({ store: { ...store, ...changes }, monotonic, sleep, pageLimits })
  }
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
    await store.set(LOCK, 'another', LOCK_MS)
    const late = replica({ set: () => Promise.reject(storeUnavailable()) })
    await expect(late(LOCK, fetchOf('one'))).rejects.toMatchObject({ status: 503 })
    expect(await store.get(LOCK)).toBe('another')
  })

  test('is released after a failed fetch: the failure is that of the caller, and the next replica fetches', async () => {
    const fetch = () => Promise.reject(new Error('failed'))
    await expect(replica()(LOCK, { ...fetchOf(''), fetch })).rejects.toThrow('failed')
    expect(await waited()).toBe(0)
  })

  test('holds others back until its owner has stored the value, or for as long as it lives', async () => {
    await store.set(LOCK, 'another', LOCK_MS)
    const found = async () => (time >= 1000 ? 'stored' : undefined)
    expect(await replica()(LOCK, fetchOf('own', found))).toBe('stored')
    const from = time
    expect(from).toBeLessThan(1100)
    expect(await waited()).toBeGreaterThanOrEqual(LOCK_MS - from)
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

test('concurrent callers of one process share one fetch, also its failure, but not that of a background fetch', async () => {
  const coalesce = createCoalescing<string>({
    ...{ store: createMemoryStore(), monotonic: () => 0, sleep: async () => {}, pageLimits },
  })
  let fetched = 0
  const fetch = () => Promise.reject(new Error(`failed ${++fetched}`))
  const calls = [false, false, true].map((background) =>
    coalesce(LOCK, { ...fetchOf(''), background, fetch }),
  )
  const reasons = (await Promise.allSettled(calls)).map((call) => 'reason' in call && call.reason.message)
  expect(reasons).toEqual(['failed 1', 'failed 1', 'failed 2'])
})
