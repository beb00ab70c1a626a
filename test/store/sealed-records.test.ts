import { randomBytes } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import { createSeal, createSigner } from '../../src/crypto/keys.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import { createSealedRecords } from '../../src/store/sealed-records.ts'
import { collectLog } from '../observability/collect-log.ts'
import { restartable } from '../support/restartable.ts'

const MINUTE_MS = 60_000
const schema = z.object({ version: z.literal(1), text: z.string() })
const record = (text: string) => ({ version: 1, text }) as const

function harness() {
  const first = randomBytes(32)
  const entries = new Map<string, MemoryEntry>()
  const store = createMemoryStore({ entries })
  const { log, lines } = collectLog()
  const metrics = createMetrics()
  const { object: records, restartWith } = restartable([first], (masterKeys) =>
    createSealedRecords({
      store,
      seal: createSeal(masterKeys, 'test'),
      nameSigner: createSigner(masterKeys, 'test-names'),
      keyPattern: 'test:*',
      schema,
      kind: 'test',
      log,
      metrics,
    }),
  )
  const unreadable = async () => {
    const { values } = await metrics.unreadableRecords.get()
    return values.map(({ labels, value }) => [labels.kind, value])
  }
  const rotate = () => restartWith(randomBytes(32), first)
  return { records, store, entries, lines, unreadable, rotate }
}

describe('a sealed record', () => {
  test('is read by its name, and reveals neither name nor content', async () => {
    const { records, entries, unreadable } = harness()
    expect(await records.read('amelia')).toBeUndefined()
    await records.write('amelia', record('private'), MINUTE_MS)
    const [[key, entry] = []] = entries
    expect(await records.read('amelia')).toEqual({ key, raw: entry?.content, value: record('private') })
    expect(records.keysOf('amelia')).toEqual([key])
    expect(JSON.stringify([...entries])).not.toMatch(/amelia|private/)
    expect(await unreadable()).toEqual([])
  })

  test('is found and removed under its old key after a key rotation', async () => {
    const { records, entries, rotate } = harness()
    await records.write('amelia', record('before'), MINUTE_MS)
    const [before] = entries.keys()
    rotate()
    const [newest, older] = records.keysOf('amelia')
    expect(older).toBe(before)
    expect(await records.read('amelia')).toMatchObject({ key: older, value: record('before') })

    await records.write('amelia', record('after'), MINUTE_MS)
    expect(await records.read('amelia')).toMatchObject({ key: newest, value: record('after') })
    expect(await records.remove('amelia')).toBe(true)
    expect([await records.remove('amelia'), entries.size]).toEqual([false, 0])
  })

  test('is removed conditionally only if it has not changed since it was read', async () => {
    const { records } = harness()
    await records.write('amelia', record('one'), MINUTE_MS)
    const first = await records.read('amelia')
    await records.write('amelia', record('two'), MINUTE_MS)
    const second = await records.read('amelia')
    if (first === undefined || second === undefined) throw new Error('it was written')
    expect(await records.removeIf(first)).toBe(false)
    expect(await records.read('amelia')).toEqual(second)
    expect(await records.removeIf(second)).toBe(true)
    expect(await records.read('amelia')).toBeUndefined()
  })

  test('can be sealed and opened without the store, for its own key only', () => {
    const { records } = harness()
    const [key] = records.keysOf('amelia')
    const raw = records.seal(record('one'), key)
    expect(records.open(raw, key)).toEqual(record('one'))
    expect(records.open(raw, `${key}x`)).toBeUndefined()
    expect(records.open(undefined, key)).toBeUndefined()
  })
})

describe('an unreadable record', () => {
  const { records: sealing } = harness()

  test.each<[string, (records: typeof sealing, key: string) => string]>([
    ['copied from another key', (records) => records.seal(record('another'), 'gatehouse:test:another')],
    ['of another version', (records, key) => records.seal({ version: 2, text: 'new' } as never, key)],
    ['that was never sealed', () => JSON.stringify(record('plain'))],
    ['sealed with another key', (_records, key) => sealing.seal(record('foreign'), key)],
    ['that is empty', () => ''],
  ])('%s is treated as missing, counted and logged, and is not deleted', async (_what, rawOf) => {
    const { records, store, lines, unreadable } = harness()
    const [key] = records.keysOf('amelia')
    const raw = rawOf(records, key)
    await store.set(key, raw, MINUTE_MS)
    expect(await records.read('amelia')).toBeUndefined()
    expect(await unreadable()).toEqual([['test', 1]])
    expect(lines()).toMatchObject([{ level: 'warn', event: 'unreadable_record', name: 'test' }])
    expect(await store.get(key)).toBe(raw)
  })

  test('under the newest key does not hide a record under an older key', async () => {
    const { records, store, rotate } = harness()
    await records.write('amelia', record('older'), MINUTE_MS)
    rotate()
    await store.set(records.keysOf('amelia')[0], 'damaged', MINUTE_MS)
    expect(await records.read('amelia')).toMatchObject({ value: record('older') })
  })
})
