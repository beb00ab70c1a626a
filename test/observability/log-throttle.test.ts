import { expect, test } from '@jest/globals'
import { createLogThrottle } from '../../src/observability/log-throttle.ts'

test('one line for each key and period, with the number of events since its last line', () => {
  let nowMs = 1_000_000
  const throttle = createLogThrottle({ periodMs: 1000, maxLines: 10, now: () => nowMs })
  expect([throttle('a'), throttle('a')]).toEqual([1, 0])
  nowMs += 600
  expect([throttle('b'), throttle('a')]).toEqual([1, 0])
  nowMs += 400 // the period of `a` has ended, that of `b` has not
  expect([throttle('b'), throttle('a'), throttle('a')]).toEqual([0, 3, 0])
})

test('a line of another key loses no count', () => {
  let nowMs = 0
  const throttle = createLogThrottle({ periodMs: 1000, maxLines: 2, now: () => nowMs })
  expect([throttle('a'), throttle('a'), throttle('a')]).toEqual([1, 0, 0])
  nowMs = 1000
  expect([throttle('b'), throttle('a')]).toEqual([1, 3])
})

test('the number of lines in a period is limited, even if each has a new key', () => {
  let nowMs = 0
  const throttle = createLogThrottle({ periodMs: 1000, maxLines: 3, now: () => nowMs })
  const written = () =>
    Array.from({ length: 1000 }, (_, n) => throttle(`key-${n}`)).filter((count) => count > 0).length
  expect(written()).toBe(3)
  expect(written()).toBe(0)
  nowMs = 1000
  expect(written()).toBe(3)
})
