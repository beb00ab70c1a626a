import { expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import { createImpatientStore } from '../../src/store/impatient-store.ts'
import { createMemoryStore } from '../../src/store/memory-store.ts'

test('after a failure the store is left alone for a second, then asked again', async () => {
  let time = 0
  let asked = 0
  let away = true
  const inner = createMemoryStore()
  const get = async (key: string) => {
    asked += 1
    if (away) throw storeUnavailable()
    return inner.get(key)
  }
  const store = createImpatientStore({ store: { ...inner, get }, monotonic: () => time })

  for (let n = 0; n < 5; n++) await expect(store.get('key')).rejects.toMatchObject({ status: 503 })
  await expect(store.set('key', 'value', 1000)).rejects.toMatchObject({ status: 503 })
  expect(asked).toBe(1)

  away = false
  time = 1000
  expect(await store.get('key')).toBeUndefined()
  expect(await store.set('key', 'value', 1000)).toBe(true)
  expect(asked).toBe(2)
})

test('what may be written late is taken back although the store counts as away, and nobody waits for it', async () => {
  const inner = createMemoryStore()
  const asked: string[] = []
  const store = createImpatientStore({
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
  store.takeBack('key', 'another')
  expect(await inner.get('key')).toBe('mine')
  store.takeBack('key', 'mine')
  store.takeBack('lost', 'mine')
  expect(asked).toEqual(['key', 'key', 'lost'])
  expect(await inner.get('key')).toBeUndefined()
})
