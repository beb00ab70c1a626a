import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { v4 as uuid } from 'uuid'
import type { RecordChange } from '../../src/store/locked-records.ts'
import type { Store } from '../../src/store/store.ts'
import { describeCounting } from './attempt-counters-contract.ts'

export interface StoreUnderTest {
  readonly store: Store
  /** Milliseconds until the key expires, read without the store. Undefined if there is no key. */
  timeToLive(key: string): Promise<number | undefined>
  /** Lets `ms` pass, or waits until the condition is true. */
  letPass(ms: number, isOver: () => Promise<boolean>): Promise<void>
  /** Milliseconds since 1970, on the store's clock. */
  clock(): number
  close(): Promise<void>
}

/** The contract of every store. Each test has its own keys, so all tests share one store. */
export function describeStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the store contract: ${name}`, () => {
    let tested: StoreUnderTest
    let store: Store
    beforeAll(async () => {
      tested = await open()
      store = tested.store
    })
    afterAll(() => tested.close())

    const ttlOf = async (key: string) => (await tested.timeToLive(key)) ?? Number.NaN

    describe('get and set', () => {
      test('a key that was never written is undefined', async () => {
        expect(await store.get(someKey())).toBeUndefined()
      })

      test('a value is read back and has its time to live', async () => {
        const key = someKey()
        expect(await store.set(key, 'one', 60_000)).toBe(true)
        expect(await store.get(key)).toBe('one')
        expectWithin(await ttlOf(key), 55_000, 60_000)
      })

      test.each([
        ['an empty value', ''],
        ['control characters and a null byte', '\u0000\r\n$3\r\nfoo\u0007'],
        ['characters outside the basic multilingual plane', 'grüße 漢字 👩‍🚀'],
        ['a lone percent sign and quotes', `%"'\\`],
        ['a value of a megabyte', 'x'.repeat(1_000_000)],
      ])('%s is read back unchanged', async (_what, value) => {
        const key = someKey()
        await store.set(key, value, 60_000)
        expect(await store.get(key)).toBe(value)
        expect(await store.deleteIf(key, value)).toBe(true)
      })

      test('when absent: only the first write succeeds', async () => {
        const key = someKey()
        expect(await store.set(key, 'one', 60_000, 'absent')).toBe(true)
        expect(await store.set(key, 'two', 20_000, 'absent')).toBe(false)
        expect(await store.get(key)).toBe('one')
        expect(await ttlOf(key)).toBeGreaterThan(20_000)
      })

      test('when absent, a hundred concurrent writes: exactly one succeeds', async () => {
        const key = someKey()
        const wrote = await Promise.all(numbers(100).map((n) => store.set(key, `${n}`, 60_000, 'absent')))
        expect(wrote.filter(Boolean)).toHaveLength(1)
        expect(await store.get(key)).toBe(`${wrote.indexOf(true)}`)
      })

      test('when present: a missing key is not created', async () => {
        const key = someKey()
        expect(await store.set(key, 'one', 60_000, 'present')).toBe(false)
        expect(await store.get(key)).toBeUndefined()
        await store.set(key, 'one', 60_000)
        expect(await store.set(key, 'two', 60_000, 'present')).toBe(true)
        expect(await store.get(key)).toBe('two')
      })

      test('a time to live may be fractional, zero or negative', async () => {
        const key = someKey()
        await store.set(key, 'one', 1500.5)
        expectWithin(await ttlOf(key), 1, 1501)
        await store.set(key, 'two', -5)
        await tested.letPass(5, async () => (await store.get(key)) === undefined)
        expect(await store.get(key)).toBeUndefined()
      })

      test('a time to live of NaN or infinity is refused', async () => {
        await expect(store.set(someKey(), 'one', Number.NaN)).rejects.toThrow(TypeError)
        await expect(store.set(someKey(), 'one', Number.POSITIVE_INFINITY)).rejects.toThrow(TypeError)
      })

      test('every operation treats an expired key as missing', async () => {
        const [key, index] = [someKey(), someKey()]
        await store.set(key, 'one', 40)
        await store.indexPut(index, 'field', 'one', 40)
        await tested.letPass(41, async () => (await store.get(key)) === undefined)
        expect(await store.get(key)).toBeUndefined()
        expect(await store.delete(key)).toBe(false)
        expect(await store.deleteIf(key, 'one')).toBe(false)
        expect(await store.set(key, 'two', 1000, 'present')).toBe(false)
        expect(await store.set(key, 'two', 1000, 'absent')).toBe(true)
        await tested.letPass(41, async () => Object.keys(await store.indexAll(index)).length === 0)
        expect(await store.indexAll(index)).toEqual({})
      })
    })

    describe('raise', () => {
      test('writes a number and its time to live only if it is larger than the stored one', async () => {
        const key = someKey()
        expect(await store.raise(key, 1_796_000_000_500, 60_000)).toBe(true)
        expect(await store.raise(key, 1_796_000_000_499, 20_000)).toBe(false)
        expect(await store.raise(key, 1_796_000_000_500, 20_000)).toBe(false)
        expect(await store.get(key)).toBe('1796000000500')
        expectWithin(await ttlOf(key), 55_000, 60_000)
        expect(await store.raise(key, 1_796_000_000_501, 20_000)).toBe(true)
        expect(await store.get(key)).toBe('1796000000501')
        expectWithin(await ttlOf(key), 15_000, 20_000)
      })

      test('of concurrent writes in any order, the largest stays', async () => {
        const key = someKey()
        await Promise.all([3, 9, 1, 7].map((value) => store.raise(key, value, 60_000)))
        expect(await store.get(key)).toBe('9')
      })
    })

    describe('swap', () => {
      test('writes, and returns the previous value', async () => {
        const key = someKey()
        expect(await store.swap(key, 'one', 60_000)).toBeUndefined()
        expect(await store.swap(key, 'two', 20_000)).toBe('one')
        expect(await store.get(key)).toBe('two')
        expectWithin(await ttlOf(key), 15_000, 20_000)
      })
    })

    describe('replaceIf', () => {
      test('writes over the expected value only, with a new time to live', async () => {
        const key = someKey()
        expect(await store.replaceIf(key, 'one', 'two', 60_000)).toBe(false)
        expect(await store.get(key)).toBeUndefined()
        await store.set(key, 'one', 60_000)
        expect(await store.replaceIf(key, 'another', 'two', 60_000)).toBe(false)
        expect(await store.get(key)).toBe('one')
        const replacing = ['two', 'three'].map((value) => store.replaceIf(key, 'one', value, 60_000))
        expect(await Promise.all(replacing)).toEqual([true, false])
        expect(await store.get(key)).toBe('two')
        expect(await store.replaceIf(key, 'two', 'three', 20_000)).toBe(true)
        expectWithin(await ttlOf(key), 15_000, 20_000)
      })
    })

    describe('delete', () => {
      test('delete returns whether the key existed', async () => {
        const key = someKey()
        await store.set(key, 'one', 60_000)
        expect(await store.delete(key)).toBe(true)
        expect(await store.delete(key)).toBe(false)
        expect(await store.get(key)).toBeUndefined()
      })

      test('deleteIf does not delete another value', async () => {
        const key = someKey()
        expect(await store.deleteIf(key, 'mine')).toBe(false)
        await store.set(key, 'theirs', 60_000)
        expect(await store.deleteIf(key, 'mine')).toBe(false)
        expect(await store.get(key)).toBe('theirs')
        expect(await store.deleteIf(key, 'theirs')).toBe(true)
        expect(await store.get(key)).toBeUndefined()
      })
    })

    test('deleteAll deletes the keys that begin with the prefix, and no other, and returns their number', async () => {
      const { store } = tested
      const prefix = `${someKey()}[a*]:`
      const own = Array.from({ length: 1500 }, (_, n) => `${prefix}${n}`)
      const others = [prefix.replace('[a*]', 'a'), prefix.replace('*', 'x'), `x${prefix}`]
      await Promise.all([...own, ...others].map((key) => store.set(key, '1', 60_000)))
      await store.indexPut(`${prefix}index`, 'field', '1', 60_000)
      expect(await store.deleteAll(prefix)).toBe(1501)
      expect(await Promise.all(own.map((key) => store.get(key)))).toEqual(own.map(() => undefined))
      expect(await store.indexAll(`${prefix}index`)).toEqual({})
      expect(await Promise.all(others.map((key) => store.get(key)))).toEqual(['1', '1', '1'])
      expect(await store.deleteAll(prefix)).toBe(0)
    })

    describe('acquire', () => {
      test('acquires the lock and reads the record', async () => {
        const { lockKey, recordKey } = someRecord()
        await store.set(recordKey, 'v1', 60_000)
        const request = await store.acquire({ lockKey, recordKey, token: 'a', lockTtlMs: 5000 })
        expect(request).toEqual({ holder: 'a', record: 'v1' })
        expectWithin(await ttlOf(lockKey), 1, 5000)
        expect(await ttlOf(recordKey)).toBeGreaterThan(55_000)
      })

      test('a lock held by another token: returns the holder and the record, and does not change the lock', async () => {
        const { lockKey, recordKey } = someRecord()
        await store.set(recordKey, 'v1', 60_000)
        await store.acquire({ lockKey, recordKey, token: 'a', lockTtlMs: 5000 })
        const second = await store.acquire({ lockKey, recordKey, token: 'b', lockTtlMs: 60_000 })
        expect(second).toEqual({ holder: 'a', record: 'v1' })
        expectWithin(await ttlOf(lockKey), 1, 5000)
      })

      test('a hundred concurrent calls: exactly one acquires the lock, and the others get its token', async () => {
        const record = someRecord()
        await store.set(record.recordKey, 'v1', 60_000)
        const acquired = await Promise.all(
          numbers(100).map((n) => store.acquire({ ...record, token: `t${n}`, lockTtlMs: 5000 })),
        )
        const winners = acquired.filter(({ holder }, n) => holder === `t${n}`)
        expect(winners).toHaveLength(1)
        expect(new Set(acquired.map(({ holder }) => holder))).toEqual(new Set([winners[0]?.holder]))
        expect(acquired.every(({ record: read }) => read === 'v1')).toBe(true)
      })

      test('a lock expires if its holder does not release it', async () => {
        const record = someRecord()
        await store.acquire({ ...record, token: 'lost', lockTtlMs: 40 })
        await tested.letPass(41, async () => (await store.get(record.lockKey)) === undefined)
        expect((await store.acquire({ ...record, token: 'b', lockTtlMs: 5000 })).holder).toBe('b')
      })

      test('keys in different slots are refused', async () => {
        const request = { lockKey: someKey(), recordKey: someKey(), token: 'a', lockTtlMs: 5000 }
        await expect(store.acquire(request)).rejects.toThrow('hash tag')
      })
    })

    describe('commit', () => {
      test('writes the record with its time to live and the shared result, and releases the lock', async () => {
        const locked = await someLock(store, 'v1')
        const committed = await store.commit({
          ...locked,
          record: { write: 'v2', ttlMs: 30_000 },
          shared: { key: locked.resultKey, value: 'the answer', ttlMs: 5000 },
        })
        expect(committed).toBe(true)
        expect(await store.get(locked.recordKey)).toBe('v2')
        expectWithin(await ttlOf(locked.recordKey), 25_000, 30_000)
        expect(await store.get(locked.resultKey)).toBe('the answer')
        expectWithin(await ttlOf(locked.resultKey), 1, 5000)
        expect(await store.get(locked.lockKey)).toBeUndefined()
      })

      test('keeps the record and its time to live', async () => {
        const locked = await someLock(store, 'v1')
        expect(await store.commit({ ...locked, record: 'keep' })).toBe(true)
        expect(await store.get(locked.recordKey)).toBe('v1')
        expect(await ttlOf(locked.recordKey)).toBeGreaterThan(55_000)
        expect(await store.get(locked.lockKey)).toBeUndefined()
        expect(await store.get(locked.resultKey)).toBe('shared')
      })

      test('deletes the record', async () => {
        const locked = await someLock(store, 'v1')
        expect(await store.commit({ ...locked, record: 'delete' })).toBe(true)
        expect(await store.get(locked.recordKey)).toBeUndefined()
        expect(await store.get(locked.lockKey)).toBeUndefined()
      })

      test.each<[string, string | undefined, string | undefined]>([
        ['has changed', 'v1', 'v1b'],
        ['has been deleted', 'v1', undefined],
        ['has been created', undefined, 'v0'],
        ['has been created, empty', undefined, ''],
        ['was empty and has been deleted', '', undefined],
      ])(
        'if the record %s since, neither the record nor the result is written, and the lock is released',
        async (_what, was, is) => {
          for (const record of [
            { write: 'late', ttlMs: 60_000 },
            'delete',
            'keep',
          ] satisfies RecordChange[]) {
            const locked = await someLock(store, was)
            if (is === undefined) await store.delete(locked.recordKey)
            else await store.set(locked.recordKey, is, 60_000)
            expect(await store.commit({ ...locked, record })).toBe(false)
            expect(await store.get(locked.recordKey)).toBe(is)
            expect(await store.get(locked.resultKey)).toBeUndefined()
            expect(await store.get(locked.lockKey)).toBeUndefined()
          }
        },
      )

      test('a holder whose lock has expired does not release the lock of another', async () => {
        const late = await someLock(store, 'v1', 40)
        await tested.letPass(41, async () => (await store.get(late.lockKey)) === undefined)
        const next = { ...late, token: 'next' }
        expect((await store.acquire({ ...next, lockTtlMs: 60_000 })).holder).toBe('next')
        expect(await store.commit({ ...late, record: 'keep' })).toBe(true)
        expect(await store.get(late.lockKey)).toBe('next')

        expect(await store.commit({ ...next, record: { write: 'v2', ttlMs: 60_000 } })).toBe(true)
        expect(await store.commit({ ...late, record: { write: 'late', ttlMs: 60_000 } })).toBe(false)
        expect(await store.get(late.recordKey)).toBe('v2')
      })

      test('keys in different slots are refused', async () => {
        const locked = await someLock(store, 'v1')
        const shared = { key: someKey(), value: 'the answer', ttlMs: 5000 }
        await expect(store.commit({ ...locked, record: 'keep', shared })).rejects.toThrow('hash tag')
      })

      test('twenty workers increment one counter: no increment is lost', async () => {
        const record = someRecord()
        const shared = { key: `${record.recordKey}:shared`, value: 'shared', ttlMs: 5000 }
        await store.set(record.recordKey, '0', 60_000)
        const step = async (token: string): Promise<void> => {
          for (;;) {
            const { holder, record: value } = await store.acquire({ ...record, token, lockTtlMs: 60_000 })
            if (holder !== token || value === undefined) continue
            const write = String(Number(value) + 1)
            expect(
              await store.commit({
                ...record,
                token,
                expected: value,
                record: { write, ttlMs: 60_000 },
                shared,
              }),
            ).toBe(true)
            return
          }
        }
        await Promise.all(numbers(20).map((n) => step(`worker-${n}`)))
        expect(await store.get(record.recordKey)).toBe('20')
      })
    })

    describeCounting(() => tested)

    describe('the index', () => {
      test('fields are added, replaced, listed and removed', async () => {
        const key = someKey()
        expect(await store.indexAll(key)).toEqual({})
        expect(await store.indexPut(key, 'a', '1', 60_000)).toBe(1)
        expect(await store.indexPut(key, 'b', '', 60_000)).toBe(2)
        expect(await store.indexPut(key, 'a', '2', 60_000)).toBe(2)
        expect(await store.indexPut(key, ['b', 'c'], '', 60_000)).toBe(3)
        expect(await store.indexRemove(key, 'c')).toBe(true)
        expect(await store.indexAll(key)).toEqual({ a: '2', b: '' })
        expect(await store.indexRemove(key, 'a')).toBe(true)
        expect(await store.indexRemove(key, 'a')).toBe(false)
        expect(await store.indexAll(key)).toEqual({ b: '' })
        expect(await store.indexRemove(key, 'b')).toBe(true)
        expect(await store.indexAll(key)).toEqual({})
        expect(await tested.timeToLive(key)).toBeUndefined()
      })

      test('the time to live is extended, never shortened', async () => {
        const key = someKey()
        await store.indexPut(key, 'a', '1', 30_000)
        expectWithin(await ttlOf(key), 25_000, 30_000)
        await store.indexPut(key, 'b', '1', 60_000)
        expectWithin(await ttlOf(key), 55_000, 60_000)
        await store.indexPut(key, 'c', '1', 10_000)
        expectWithin(await ttlOf(key), 55_000, 60_000)
      })

      test('an index cannot be read as a value, nor a value as an index', async () => {
        const [index, value] = [someKey(), someKey()]
        await store.indexPut(index, 'a', '1', 60_000)
        await store.set(value, 'one', 60_000)
        await expect(store.get(index)).rejects.toThrow()
        await expect(store.indexAll(value)).rejects.toThrow()
      })

      test('a field may have the name of an Object.prototype member', async () => {
        const key = someKey()
        await store.indexPut(key, '__proto__', '1', 60_000)
        await store.indexPut(key, 'constructor', '2', 60_000)
        expect(Object.entries(await store.indexAll(key)).sort()).toEqual([
          ['__proto__', '1'],
          ['constructor', '2'],
        ])
      })
    })

    test('a thousand concurrent operations on keys of many slots all return the right value', async () => {
      const keys = numbers(500).map(() => someKey())
      await Promise.all(keys.map((key, n) => store.set(key, `${n}`, 60_000)))
      const values = await Promise.all(keys.map((key) => store.get(key)))
      expect(values).toEqual(keys.map((_key, n) => `${n}`))
    })

    test('it can be pinged', async () => {
      await expect(store.ping()).resolves.toBeUndefined()
    })

    test('its clock is in milliseconds', async () => {
      expect(Math.abs((await store.time()) - tested.clock())).toBeLessThan(60_000)
    })

    test('every key has a time to live', async () => {
      for (const key of madeKeys) {
        const ttl = await tested.timeToLive(key)
        // -1: without one; 0: about to expire
        if (ttl !== undefined) expect(ttl).toBeGreaterThanOrEqual(0)
      }
    })
  })
}

/** Every key of the tests, to check the times to live. */
const madeKeys: string[] = []

function someKey(tag: string = uuid()): string {
  const key = `gatehouse:test:${tag}:${madeKeys.length}`
  madeKeys.push(key)
  return key
}

function someRecord() {
  const tag = `{${uuid()}}`
  return { lockKey: someKey(tag), recordKey: someKey(tag) }
}

async function someLock(store: Store, value: string | undefined, lockTtlMs = 60_000) {
  const tag = `{${uuid()}}`
  const record = { lockKey: someKey(tag), recordKey: someKey(tag) }
  if (value !== undefined) await store.set(record.recordKey, value, 60_000)
  const token = uuid()
  expect(await store.acquire({ ...record, token, lockTtlMs })).toEqual({ holder: token, record: value })
  const resultKey = someKey(tag)
  const shared = { key: resultKey, value: 'shared', ttlMs: 5000 }
  return { ...record, resultKey, token, expected: value, shared }
}

function expectWithin(value: number, least: number, most: number): void {
  expect(value).toBeGreaterThanOrEqual(least)
  expect(value).toBeLessThanOrEqual(most)
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}
