import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/sign.ts'
import { createUserKeys } from '../../src/session/user-keys.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const PREFIX = 'gatehouse:txn:user:'
const TTL_MS = 60_000

const clock = { now: 0 }
let entries: Map<string, MemoryEntry>
let store: Store
beforeEach(() => {
  clock.now = 0
  entries = new Map()
  store = createMemoryStore({ entries, now: () => clock.now })
})
afterEach(() => store.close())

const replica = (...keys: Buffer[]) =>
  createUserKeys({
    store,
    names: createSigner(() => keys, 'user-key-names'),
    prefix: PREFIX,
    now: () => clock.now,
  })

async function write(userId: string, key: string, ttlMs = TTL_MS, keys = replica(OLD)): Promise<void> {
  await store.set(key, 'value', ttlMs)
  await keys.add(userId, key, ttlMs)
}
const left = () => [...entries.keys()].filter((key) => !key.startsWith(PREFIX)).toSorted()

test('all keys of a user are deleted, no other user’s, and none that is kept', async () => {
  for (const key of ['a', 'b', 'c']) await write('one', key)
  await write('other', 'd')
  await replica(OLD).deleteAll('one', ['b'])
  expect(left()).toEqual(['b', 'd'])
  await replica(OLD).deleteAll('one')
  expect(left()).toEqual(['d'])
})

test('keys that were noted under a retired key are deleted too', async () => {
  await write('one', 'a')
  await write('one', 'b', TTL_MS, replica(NEW, OLD))
  await replica(NEW, OLD).deleteAll('one')
  expect(left()).toEqual([])
})

test('a key that was deleted leaves the index, also one that was noted under a retired key', async () => {
  await write('one', 'a')
  await write('one', 'b', TTL_MS, replica(NEW, OLD))
  for (const key of ['a', 'b']) await replica(NEW, OLD).remove('one', key)
  await replica(NEW, OLD).deleteAll('one')
  expect(left()).toEqual(['a', 'b'])
})

test('the index ends with the last of its keys', async () => {
  await write('one', 'a')
  await write('one', 'b', 2 * TTL_MS)
  clock.now = TTL_MS + 1
  expect(await store.indexAll([...entries.keys()].find((key) => key.startsWith(PREFIX)) ?? '')).not.toEqual(
    {},
  )
  clock.now = 2 * TTL_MS + 1
  await replica(OLD).deleteAll('one')
  expect([...entries.keys()].filter((key) => key.startsWith(PREFIX))).toEqual([])
})

test('it does not grow for ever: keys that have expired leave it', async () => {
  for (let n = 0; n < 1000; n++) {
    clock.now += TTL_MS / 10
    await write('one', `key ${n}`)
  }
  const [index = ''] = [...entries.keys()].filter((key) => key.startsWith(PREFIX))
  expect(Object.keys(await store.indexAll(index)).length).toBeLessThan(50)
  await replica(OLD).deleteAll('one')
  expect(await store.get('key 999')).toBeUndefined()
})
