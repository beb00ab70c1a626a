import { beforeEach, expect, test } from '@jest/globals'
import { createSeal, createSigner } from '../../src/crypto/keys.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import { createSessionOpening, type OpenSessionOptions } from '../../src/session/open-session.ts'
import { collectLog } from '../observability/collect-log.ts'
import { entries, store, useMemoryStore } from '../support/memory-store.ts'
import { GRANT } from './grant.ts'

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const TTL_MS = 60_000

useMemoryStore()
let metrics: Metrics
beforeEach(() => {
  metrics = createMetrics()
})

/** The index of devices, as one replica uses it to open sessions. */
function replica(...masterKeys: Buffer[]) {
  const { log } = collectLog()
  const used: Partial<OpenSessionOptions> = { store, masterKeys, absoluteMs: TTL_MS, log, metrics }
  // the rest is for other writes
  const { takeDevice, undoTakeDevice } = createSessionOpening(used as OpenSessionOptions)
  return {
    bind(id: string, deviceId = 'device') {
      const times = { createdAtMs: 0, authenticatedAtMs: 0, lastSeenAtMs: 0 }
      return takeDevice({ id, session: { ...GRANT, deviceId, publicId: 'public', ...times } })
    },
    undo: undoTakeDevice,
  }
}

async function unreadable(): Promise<number> {
  const { values } = await metrics.unreadableRecords.get()
  return values.find(({ labels }) => labels.kind === 'user_session')?.value ?? 0
}

test('bind returns the previous session of the device, and none of other devices', async () => {
  const { bind } = replica(OLD)
  expect((await bind('one')).replaced).toEqual([])
  expect((await bind('other', 'another device')).replaced).toEqual([])
  expect((await bind('two')).replaced).toEqual(['one'])
  expect(await unreadable()).toBe(0)
})

test('undone, the previous session of the device is restored', async () => {
  const { bind, undo } = replica(OLD)
  await bind('one')
  const two = await bind('two')
  await undo(two)
  expect((await bind('three')).replaced).toEqual(['one'])
})

test('undone, the session of a later sign-in stays', async () => {
  const { bind, undo } = replica(OLD)
  const one = await bind('one')
  await bind('two')
  await undo(one)
  expect((await bind('three')).replaced).toEqual(['two'])
})

test('undone while a later sign-in takes the device, its session stays too', async () => {
  const { bind, undo } = replica(OLD)
  await bind('one')
  const two = await bind('two')
  const { deleteIf } = store
  store.deleteIf = async (...given) => {
    const isDeleted = await deleteIf(...given)
    await bind('three')
    return isDeleted
  }
  await undo(two)
  expect((await bind('four')).replaced).toEqual(['three'])
})

test('a session under a retired key is found', async () => {
  await replica(OLD).bind('one')
  expect((await replica(NEW, OLD).bind('two')).replaced).toEqual(['one'])
})

test('an entry that another version of the broker has written is found', async () => {
  const key = `gatehouse:user-sess:${createSigner([OLD], 'device-session-names').sign('device')}`
  await store.set(key, createSeal([OLD], 'user-session').seal('{"version":1,"id":"one"}', key), TTL_MS)
  expect((await replica(OLD).bind('two')).replaced).toEqual(['one'])
})

test('undone without a previous session, none is left', async () => {
  const { bind, undo } = replica(OLD)
  await undo(await bind('one'))
  expect(entries.size).toBe(0)
})

test('an entry that cannot be opened, of a later version, or copied from another device is ignored and counted', async () => {
  const seal = createSeal([OLD], 'user-session')
  await replica(OLD).bind('one', 'another device')
  const [copied = ''] = [...entries.values()].map(({ content }) => String(content))
  await replica(OLD).bind('one')
  const key = [...entries.keys()].at(-1) ?? ''
  for (const content of [
    'something else',
    copied,
    seal.seal('{"version":2,"id":"one"}', key),
    seal.seal('{"version":1}', key),
  ]) {
    await store.set(key, content, TTL_MS)
    expect((await replica(OLD).bind('two')).replaced).toEqual([])
  }
  expect(await unreadable()).toBe(4)
})

test('after a swap without a response, the entry is deleted, because the swap may still be executed', async () => {
  await replica(OLD).bind('one')
  const { swap } = store
  store.swap = async (...given) => {
    await swap(...given)
    throw new Error('no answer')
  }
  await expect(replica(OLD).bind('two')).rejects.toThrow('no answer')
  expect(entries.size).toBe(0)
  store.deleteIf = () => Promise.reject(new Error('no answer either'))
  await expect(replica(OLD).bind('three')).rejects.toThrow('no answer')
})
