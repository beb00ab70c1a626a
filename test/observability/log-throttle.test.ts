import { expect, test } from '@jest/globals'
import { createLogThrottle } from '../../src/observability/log-throttle.ts'

test('one line for each key and period', () => {
  let nowMs = 1_000_000
  const mayLog = createLogThrottle({ periodMs: 1000, maxLines: 10, now: () => nowMs })
  expect([mayLog('a'), mayLog('a'), mayLog('b'), mayLog('a')]).toEqual([true, false, true, false])
  nowMs += 999
  expect(mayLog('a')).toBe(false)
  nowMs += 1
  expect([mayLog('a'), mayLog('a')]).toEqual([true, false])
})

test('the number of lines in a period is limited, even if each has a new key', () => {
  let nowMs = 0
  const mayLog = createLogThrottle({ periodMs: 1000, maxLines: 3, now: () => nowMs })
  const written = () => Array.from({ length: 1000 }, (_, n) => mayLog(`key-${n}`)).filter(Boolean).length
  expect(written()).toBe(3)
  expect(written()).toBe(0)
  nowMs = 1000
  expect(written()).toBe(3)
})
