import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

describe('the embedded store', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  test.each<[string, (store: Store) => Promise<unknown>]>([
    ['a value', (store) => store.set('gatehouse:new', '1', 1000)],
    ['a field of an index', (store) => store.indexPut('gatehouse:new', 'f', '1', 1000)],
  ])(
    'expired entries are deleted without being read when %s is written, every ten seconds',
    async (_, write) => {
      let time = 0
      const entries = new Map<string, MemoryEntry>()
      const store = createMemoryStore({ monotonic: () => time, entries })
      for (let n = 0; n < 3; n++) await store.set(`gatehouse:${n}`, '1', 1000)
      await store.set('gatehouse:stays', '1', 60_000)
      time = 9_999
      await write(store)
      expect(entries.size).toBe(5)
      time = 10_000
      await write(store)
      expect([...entries.keys()]).toEqual(['gatehouse:stays', 'gatehouse:new'])
      expect(jest.getTimerCount()).toBe(0)
    },
  )

  test('after closing, every operation throws storeUnavailable', async () => {
    const store = createMemoryStore()
    await store.set('gatehouse:a', '1', 1000)
    await store.close()
    await expect(store.get('gatehouse:a')).rejects.toMatchObject({ status: 503 })
    await expect(store.set('gatehouse:a', '1', 1000)).rejects.toMatchObject({ status: 503 })
    await expect(store.indexPut('gatehouse:i', 'f', '1', 1000)).rejects.toMatchObject({ status: 503 })
    await expect(store.ping()).rejects.toMatchObject({ status: 503 })
  })

  test('the default clock is monotonic; notAfterMs uses the system clock', async () => {
    const store = createMemoryStore()
    await store.set('gatehouse:a', '1', 1000)
    const counting = { keyPrefix: 'gatehouse:c', windows: [], notAfterMs: Date.now() + 1000 }
    expect((await store.countAttempt(counting)).late).toBeUndefined()
    jest.setSystemTime(Date.now() + 3_600_000)
    expect(await store.get('gatehouse:a')).toBe('1')
    expect((await store.countAttempt(counting)).late).toBe(true)
    await store.close()
  })
})

describe('opening a store', () => {
  const bounds = { commandTimeoutMs: 100, connectTimeoutMs: 100 }

  test('memory: opens the embedded store with the given clock, ready at once', async () => {
    const store = openStore({ url: 'memory:', now: () => 2000, ...bounds })
    await store.ping()
    const late = async (notAfterMs: number) =>
      (await store.countAttempt({ keyPrefix: 'gatehouse:c', windows: [], notAfterMs })).late
    expect([await late(1999), await late(2000)]).toEqual([true, undefined])
    await store.close()
  })
})
