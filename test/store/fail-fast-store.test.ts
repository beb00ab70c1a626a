import { expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import { createFailFastStore } from '../../src/store/fail-fast-store.ts'
import { createMemoryStore } from '../../src/store/memory-store.ts'

test('after a failure, every operation fails at once for a second; then the store is called again', async () => {
  let time = 0
  let asked = 0
  let away = true
  const inner = createMemoryStore()
  const get = async (key: string) => {
    asked += 1
    if (away) throw storeUnavailable()
    return inner.get(key)
  }
  const store = createFailFastStore({ store: { ...inner, get }, monotonic: () => time })

  for (let n = 0; n < 5; n++) await expect(store.get('key')).rejects.toMatchObject({ status: 503 })
  await expect(store.set('key', 'value', 1000)).rejects.toMatchObject({ status: 503 })
  expect(asked).toBe(1)

  away = false
  time = 1000
  expect(await store.get('key')).toBeUndefined()
  expect(await store.set('key', 'value', 1000)).toBe(true)
  expect(asked).toBe(2)
})

test('a background deletion is sent even while other operations fail at once, and its failure is ignored', async () => {
  const inner = createMemoryStore()
  const asked: string[] = []
  const store = createFailFastStore({
    store: {
      ...inner,
      async set(...given) {
        await inner.set(...given)
        throw storeUnavailable() // too late
      },
      async deleteIf(key, expected) {
        asked.push(key)
        if (key === 'lost') throw storeUnavailable()
        return inner.deleteIf(key, expected)
      },
    },
    monotonic: () => 0,
  })
  await expect(store.set('key', 'mine', 1000)).rejects.toMatchObject({ status: 503 })
  await expect(store.deleteIf('key', 'mine')).rejects.toMatchObject({ status: 503 })
  expect(asked).toEqual([])
  store.deleteIfInBackground('key', 'another')
  expect(await inner.get('key')).toBe('mine')
  store.deleteIfInBackground('key', 'mine')
  store.deleteIfInBackground('lost', 'mine')
  expect(asked).toEqual(['key', 'key', 'lost'])
  expect(await inner.get('key')).toBeUndefined()
})
