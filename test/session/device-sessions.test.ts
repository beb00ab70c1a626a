import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createSeal } from '../../src/crypto/keys.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import { createDeviceSessions } from '../../src/session/session-device.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { collectLog } from '../observability/collect-log.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const TTL_MS = 60_000

let entries: Map<string, MemoryEntry>
let store: Store
let metrics: Metrics
beforeEach(() => {
  entries = new Map()
  store = createMemoryStore({ entries })
  metrics = createMetrics({ processMetrics: false })
})
afterEach(() => store.close())

function replica(...keys: Buffer[]) {
  const { bind } = createDeviceSessions({
    store,
    masterKeys: () => keys,
    log: collectLog().log,
    metrics,
  })
  return (id: string, device = 'device') => bind(device, id, TTL_MS)
}

async function unreadable(): Promise<number> {
  const { values } = await metrics.unreadableRecords.get()
  return values.find(({ labels }) => labels.kind === 'user_session')?.value ?? 0
}

test('each learns of the session before it, and no other device’s', async () => {
  const take = replica(OLD)
  expect((await take('one')).replaced).toEqual([])
  expect((await take('other', 'another device')).replaced).toEqual([])
  expect((await take('two')).replaced).toEqual(['one'])
  expect(await unreadable()).toBe(0)
})

test('neither device nor session can be read in the store', async () => {
  await replica(OLD)('id-of-a-session')
  const stored = [...entries].flatMap(([key, { content }]) => [key, String(content)])
  expect(stored.join()).not.toMatch(/device|id-of-a-session/)
})

test('rolled back, the session before it is the device’s again', async () => {
  const take = replica(OLD)
  await take('one')
  const two = await take('two')
  await two.rollback()
  expect((await take('three')).replaced).toEqual(['one'])
})

test('what a later sign-in has taken is not given back', async () => {
  const take = replica(OLD)
  const one = await take('one')
  await take('two')
  await one.rollback()
  expect((await take('three')).replaced).toEqual(['two'])
})

test('while keys are rotated, the session under the retired key is found', async () => {
  await replica(OLD)('one')
  expect((await replica(NEW, OLD)('two')).replaced).toEqual(['one'])
})

test('an entry that can not be read is none, and is counted', async () => {
  await replica(OLD)('one')
  for (const key of entries.keys()) await store.set(key, 'something else', TTL_MS)
  expect((await replica(OLD)('two')).replaced).toEqual([])
  expect(await unreadable()).toBe(1)
})

test('rolled back where there was none before, the device has none', async () => {
  const { rollback } = await replica(OLD)('one')
  await rollback()
  expect(entries.size).toBe(0)
})

test('an entry of a later version, or one that was copied from another device, is none', async () => {
  const seal = createSeal(() => [OLD], 'user-session')
  await replica(OLD)('one', 'another device')
  const [copied = ''] = [...entries.values()].map(({ content }) => String(content))
  await replica(OLD)('one')
  const key = [...entries.keys()].at(-1) ?? ''
  for (const content of [
    copied,
    seal.seal('{"version":2,"id":"one"}', key),
    seal.seal('{"version":1}', key),
  ]) {
    await store.set(key, content, TTL_MS)
    expect((await replica(OLD)('two')).replaced).toEqual([])
  }
  expect(await unreadable()).toBe(3)
})

test('a swap of which no answer came may still be carried out: its entry is deleted behind it', async () => {
  await replica(OLD)('one')
  const { swap } = store
  store.swap = async (...given) => {
    await swap(...given)
    throw new Error('no answer')
  }
  await expect(replica(OLD)('two')).rejects.toThrow('no answer')
  expect(entries.size).toBe(0)
  store.deleteIf = () => Promise.reject(new Error('no answer either'))
  await expect(replica(OLD)('three')).rejects.toThrow('no answer')
})
