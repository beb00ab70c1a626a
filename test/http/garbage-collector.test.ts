import { setImmediate as nextCheck } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { createGarbageCollector } from '../../src/http/garbage-collector.ts'
import { until } from '../support/until.ts'

const MB = 1_048_576

/** Collections take `tookMs` on a clock that the test controls. */
function harness({ tookMs = 0 } = {}) {
  const clock = { nowMs: 0, collections: 0 }
  const collect = () => {
    clock.collections += 1
    clock.nowMs += tookMs
  }
  const { noteFreed } = createGarbageCollector(collect, () => clock.nowMs)
  /** The number of collections so far. */
  const after = async (...megabytes: number[]) => {
    for (const size of megabytes) {
      noteFreed(size * MB)
      await nextCheck()
    }
    return clock.collections
  }
  return { clock, after, noteFreed }
}

test('4 MB of freed bodies cause a collection, at most twice a second', async () => {
  const { clock, after } = harness()
  expect(await after(1, 1, 1)).toBe(0)
  expect(await after(1)).toBe(1)
  expect(await after(100, 100)).toBe(1)
  clock.nowMs = 499
  expect(await after(1)).toBe(1)
  clock.nowMs = 500
  expect(await after(1)).toBe(2)
  clock.nowMs = 1000
  expect(await after(3)).toBe(2)
  expect(await after(1)).toBe(3)
})

test('collections take at most a tenth of the time, whatever the size of the heap', async () => {
  const { clock, after } = harness({ tookMs: 300 })
  await after(4)
  clock.nowMs = 2999
  expect(await after(4)).toBe(1)
  clock.nowMs = 3000
  expect(await after(1)).toBe(2)
})

test('bytes freed while a collection is scheduled cause no second one', async () => {
  const { clock, after, noteFreed } = harness()
  noteFreed(4 * MB)
  clock.nowMs = 10_000
  expect(await after(4)).toBe(1)
})

test('the default collector frees unreferenced objects', async () => {
  const { noteFreed } = createGarbageCollector()
  const reference = new WeakRef({ body: 'x' })
  await until(() => {
    noteFreed(4 * MB)
    return reference.deref() === undefined
  })
})
