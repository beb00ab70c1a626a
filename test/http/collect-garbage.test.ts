import { expect, test } from '@jest/globals'
import { createGarbageCollector } from '../../src/http/collect-garbage.ts'
import { until } from '../support/until.ts'

const MB = 1_048_576

test('4 MB of dropped bodies are collected, at most twice a second', () => {
  let nowMs = 0
  let collections = 0
  const collect = () => {
    collections += 1
  }
  const { dropped } = createGarbageCollector({ collect, defer: (work) => work(), now: () => nowMs })
  const after = (...megabytes: number[]) => {
    for (const size of megabytes) dropped(size * MB)
    return collections
  }
  expect(after(1, 1, 1)).toBe(0)
  expect(after(1)).toBe(1)
  expect(after(100, 100)).toBe(1)
  nowMs = 499
  expect(after(1)).toBe(1)
  nowMs = 500
  expect(after(1)).toBe(2)
  nowMs = 1000
  expect(after(3)).toBe(2)
  expect(after(1)).toBe(3)
})

test('collections take a tenth of the time at most, however large the heap is', () => {
  let nowMs = 0
  let collections = 0
  const collect = () => {
    collections += 1
    nowMs += 300
  }
  const { dropped } = createGarbageCollector({ collect, defer: (work) => work(), now: () => nowMs })
  dropped(4 * MB)
  nowMs = 2999
  dropped(4 * MB)
  expect(collections).toBe(1)
  nowMs = 3000
  dropped(1)
  expect(collections).toBe(2)
})

test('what is dropped while a collection is due begins no second one', () => {
  const due: (() => void)[] = []
  let nowMs = 0
  const { dropped } = createGarbageCollector({
    collect() {},
    defer: (work) => due.push(work),
    now: () => nowMs,
  })
  dropped(4 * MB)
  nowMs = 10_000
  dropped(4 * MB)
  expect(due).toHaveLength(1)
})

test('by itself it frees what nothing refers to', async () => {
  const { dropped } = createGarbageCollector()
  const reference = new WeakRef({ body: 'x' })
  await until(() => {
    dropped(4 * MB)
    return reference.deref() === undefined
  })
})
