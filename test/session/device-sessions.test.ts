import { beforeEach, expect, test } from '@jest/globals'
import { createSeal } from '../../src/crypto/keys.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import { createDeviceSessions } from '../../src/session/prepare-session.ts'
import { collectLog } from '../observability/collect-log.ts'
import { entries, store, useMemoryStore } from '../support/memory-store.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const TTL_MS = 60_000

useMemoryStore()
let metrics: Metrics
beforeEach(() => {
  metrics = createMetrics({ processMetrics: false })
})

function replica(...keys: Buffer[]) {
  const { bind } = createDeviceSessions({
    store,
    masterKeys: keys,
    log: collectLog().log,
    metrics,
  })
  return (id: string, device = 'device') => bind(device, id, TTL_MS)
}

async function unreadable(): Promise<number> {
  const { values } = await metrics.unreadableRecords.get()
  return values.find(({ labels }) => labels.kind === 'user_session')?.value ?? 0
}

test('bind returns the previous session of the device, and none of other devices', async () => {
  const take = replica(OLD)
  expect((await take('one')).replaced).toEqual([])
  expect((await take('other', 'another device')).replaced).toEqual([])
  expect((await take('two')).replaced).toEqual(['one'])
  expect(await unreadable()).toBe(0)
})

test('a rollback restores the previous session of the device', async () => {
  const take = replica(OLD)
  await take('one')
  const two = await take('two')
  await two.rollback()
  expect((await take('three')).replaced).toEqual(['one'])
})

test('a rollback does not replace the session of a later sign-in', async () => {
  const take = replica(OLD)
  const one = await take('one')
  await take('two')
  await one.rollback()
  expect((await take('three')).replaced).toEqual(['two'])
})

test('a session under a retired key is found', async () => {
  await replica(OLD)('one')
  expect((await replica(NEW, OLD)('two')).replaced).toEqual(['one'])
})

test('a rollback without a previous session leaves none', async () => {
  const { rollback } = await replica(OLD)('one')
  await rollback()
  expect(entries.size).toBe(0)
})

test('an entry that cannot be opened, of a later version, or copied from another device is ignored and counted', async () => {
  const seal = createSeal([OLD], 'user-session')
  await replica(OLD)('one', 'another device')
  const [copied = ''] = [...entries.values()].map(({ content }) => String(content))
  await replica(OLD)('one')
  const key = [...entries.keys()].at(-1) ?? ''
  for (const content of [
    'something else',
    copied,
    seal.seal('{"version":2,"id":"one"}', key),
    seal.seal('{"version":1}', key),
  ]) {
    await store.set(key, content, TTL_MS)
    expect((await replica(OLD)('two')).replaced).toEqual([])
  }
  expect(await unreadable()).toBe(4)
})

test('after a swap without a response, the entry is deleted, because the swap may still be executed', async () => {
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
