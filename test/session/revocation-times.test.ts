import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'
import { createRevocationTimes } from '../../src/session/revocation-times.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]

const clock = { now: 0 }
let entries: Map<string, MemoryEntry>
let store: Store
beforeEach(() => {
  clock.now = 1000
  entries = new Map()
  store = createMemoryStore({ entries, monotonic: () => clock.now })
})
afterEach(() => store.close())

const replica = (...keys: Buffer[]) =>
  createRevocationTimes({ store, names: createSigner(() => keys, 'user-key-names'), now: () => clock.now })

test('what was begun before the end, or with it, is over; what was begun later is not, nor what is another user’s', async () => {
  expect(await replica(OLD).revokedSince('one', 0)).toBe(false)
  await replica(OLD).record('one')
  for (const [begunAtMs, isOver] of [
    [999, true],
    [1000, true],
    [1001, false],
  ] as const)
    expect(await replica(OLD).revokedSince('one', begunAtMs)).toBe(isOver)
  expect(await replica(OLD).revokedSince('other', 0)).toBe(false)
})

test('an end that was noted under a retired key counts', async () => {
  await replica(OLD).record('one')
  expect(await replica(NEW, OLD).revokedSince('one', 0)).toBe(true)
})

test('it is kept for a day, without the user’s id', async () => {
  await replica(OLD).record('one')
  expect([...entries.keys()].join()).not.toContain('one')
  clock.now += 86_399_999
  expect(await replica(OLD).revokedSince('one', 0)).toBe(true)
  clock.now += 2
  expect(await replica(OLD).revokedSince('one', 0)).toBe(false)
})

test('clocks that tell parts of a millisecond agree on what was begun with the end', async () => {
  clock.now = 1000.2
  await replica(OLD).record('one')
  expect(await replica(OLD).revokedSince('one', 1000.9)).toBe(true)
  expect(await replica(OLD).revokedSince('one', 1001)).toBe(false)
})
