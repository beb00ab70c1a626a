import { expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'
import { createRevocationTimes } from '../../src/revocation/revocation-times.ts'
import { clock, entries, store, useMemoryStore } from '../support/memory-store.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]

useMemoryStore()

const replica = (...keys: Buffer[]) =>
  createRevocationTimes({ store, nameSigner: createSigner(keys, 'user-key-names'), now: () => clock.now })

test('everything that started before the revocation or at the same time is revoked, but nothing later or of other users', async () => {
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

test('a revocation that was recorded under a retired key applies', async () => {
  await replica(OLD).record('one')
  expect(await replica(NEW, OLD).revokedSince('one', 0)).toBe(true)
})

test('a revocation is stored for a day, without the user’s id', async () => {
  await replica(OLD).record('one')
  expect([...entries.keys()].join()).not.toContain('one')
  clock.now += 86_399_999
  expect(await replica(OLD).revokedSince('one', 0)).toBe(true)
  clock.now += 2
  expect(await replica(OLD).revokedSince('one', 0)).toBe(false)
})

test('fractions of a millisecond are ignored', async () => {
  clock.now = 1000.2
  await replica(OLD).record('one')
  expect(await replica(OLD).revokedSince('one', 1000.9)).toBe(true)
  expect(await replica(OLD).revokedSince('one', 1001)).toBe(false)
})
