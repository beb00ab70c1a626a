import { expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'
import { createUserKeys } from '../../src/revocation/user-keys.ts'
import { clock, entries, store, useMemoryStore } from '../support/memory-store.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const PREFIX = 'gatehouse:txn:user:'
const TTL_MS = 60_000

useMemoryStore()

const replica = (...keys: Buffer[]) =>
  createUserKeys({
    store,
    nameSigner: createSigner(keys, 'user-key-names'),
    prefix: PREFIX,
    now: () => clock.now,
  })

async function write(userId: string, key: string, ttlMs = TTL_MS, keys = replica(OLD)): Promise<void> {
  await store.set(key, 'value', ttlMs)
  await keys.add(userId, [key], ttlMs)
}
const left = () => [...entries.keys()].filter((key) => !key.startsWith(PREFIX)).toSorted()

test('deleteAll deletes all keys of the user, except the given ones', async () => {
  for (const key of ['a', 'b', 'c']) await write('one', key)
  await write('other', 'd')
  await replica(OLD).deleteAll('one', { transactionKeys: ['b'] })
  expect(left()).toEqual(['b', 'd'])
  await replica(OLD).deleteAll('one')
  expect(left()).toEqual(['d'])
})

test('deleteAll keeps what was added at the given time or later', async () => {
  for (const key of ['a', 'b', 'c']) {
    await write('one', key)
    clock.now += 1000
  }
  await replica(OLD).deleteAll('one', { transactionsSinceMs: clock.now - 2000 })
  expect(left()).toEqual(['b', 'c'])
})

test('deleteAll keeps the transactions that changed the password at about the given time', async () => {
  const changedAtMs = { a: clock.now - 31_000, b: clock.now, c: undefined }
  for (const [key, ms] of Object.entries(changedAtMs)) {
    await store.set(key, 'value', TTL_MS)
    await replica(OLD).add('one', [key], TTL_MS, ms)
  }
  await replica(OLD).deleteAll('one', { passwordChangedAtMs: clock.now + 1000 })
  expect(left()).toEqual(['b'])
})

test('deleteAll reads entries that an earlier version wrote', async () => {
  const index = await indexOfMany(0)
  for (const [key, entry] of [
    ['old', `${TTL_MS}`],
    ['changed', `${TTL_MS} ${clock.now}`],
  ] as const) {
    await store.set(key, 'value', TTL_MS)
    await store.indexPut(index, key, entry, TTL_MS)
  }
  await replica(OLD).deleteAll('one', { transactionsSinceMs: clock.now, passwordChangedAtMs: clock.now })
  expect(left()).toEqual(['changed', 'key'])
})

test('deleteAll finds the index under a retired key', async () => {
  await write('one', 'a')
  await write('one', 'b', TTL_MS, replica(NEW, OLD))
  await replica(NEW, OLD).deleteAll('one')
  expect(left()).toEqual([])
})

test('remove removes a key from the index, even under a retired key', async () => {
  await write('one', 'a')
  await write('one', 'b', TTL_MS, replica(NEW, OLD))
  for (const key of ['a', 'b']) await replica(NEW, OLD).remove('one', key)
  await replica(NEW, OLD).deleteAll('one')
  expect(left()).toEqual(['a', 'b'])
})

test('the index expires with the last of its keys', async () => {
  await write('one', 'a')
  await write('one', 'b', 2 * TTL_MS)
  clock.now += TTL_MS + 1
  const index = [...entries.keys()].find((key) => key.startsWith(PREFIX)) ?? ''
  expect(await store.indexAll(index)).not.toEqual({})
  clock.now += TTL_MS
  await replica(OLD).deleteAll('one')
  expect([...entries.keys()].filter((key) => key.startsWith(PREFIX))).toEqual([])
})

test('expired keys are removed from the index', async () => {
  for (let n = 0; n < 1000; n++) {
    clock.now += TTL_MS / 10
    await write('one', `key ${n}`)
  }
  const [index = ''] = [...entries.keys()].filter((key) => key.startsWith(PREFIX))
  expect(Object.keys(await store.indexAll(index)).length).toBeLessThan(50)
  await replica(OLD).deleteAll('one')
  expect(await store.get('key 999')).toBeUndefined()
})

test('above the limit, the keys that expire first are deleted, independently of when they were added', async () => {
  await write('one', 'long', 100 * TTL_MS)
  for (let n = 0; n < 1055; n++) await write('one', `key ${n}`, (99 - (n % 10)) * TTL_MS)
  const keys = left()
  const [index = ''] = [...entries.keys()].filter((key) => key.startsWith(PREFIX))
  expect(Object.keys(await store.indexAll(index)).toSorted()).toEqual(keys)
  expect(keys.length).toBeGreaterThanOrEqual(1000)
  expect(keys.length).toBeLessThan(1056)
  expect(keys).toContain('long')
  const gone = Array.from({ length: 1055 }, (_, n) => n).filter((n) => !keys.includes(`key ${n}`))
  expect(gone.every((n) => n % 10 === 9)).toBe(true)
})

test('many keys are deleted in batches, so that other requests are not blocked', async () => {
  const index = await indexOfMany(5000)
  const before = store.delete
  let [underWay, most] = [0, 0]
  store.delete = async (key) => {
    underWay += 1
    most = Math.max(most, underWay)
    const wasThere = await before(key)
    underWay -= 1
    return wasThere
  }
  await replica(OLD).deleteAll('one')
  expect(await store.indexAll(index)).toEqual({})
  expect(most).toBeLessThan(200)
})

test('a key that could not be deleted is found by the next attempt', async () => {
  await write('one', 'a')
  const before = store.delete
  store.delete = () => Promise.reject(new Error('no answer'))
  await expect(replica(OLD).deleteAll('one')).rejects.toThrow('no answer')
  store.delete = before
  await replica(OLD).deleteAll('one')
  expect(left()).toEqual([])
})

async function indexOfMany(count: number): Promise<string> {
  await write('one', 'key')
  const [index = ''] = [...entries.keys()].filter((key) => key.startsWith(PREFIX))
  for (let n = 0; n < count; n++) await store.indexPut(index, `key ${n}`, String(TTL_MS), TTL_MS)
  return index
}
