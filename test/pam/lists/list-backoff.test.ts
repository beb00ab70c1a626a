import { expect, test } from '@jest/globals'
import { createListBackoff } from '../../../src/pam/lists/list-backoff.ts'
import { PamFailure } from '../../../src/pam/upstream/pam-errors.ts'

const INTERVAL_MS = 80_000

test('waits for the rate limit do not lengthen the pause of a failing long list', () => {
  let now = 0
  const backoff = createListBackoff({ monotonic: () => now })
  const isPaused = () => {
    try {
      backoff.check('list')
      return false
    } catch (error) {
      expect(error).toBeInstanceOf(PamFailure)
      return true
    }
  }
  const pauses: number[] = []
  for (let read = 0; read < 5; read++) {
    for (let part = 0; part < 10; part++) {
      const refused = new PamFailure('too_many_requests', { retryAfterMs: 1000 })
      backoff.recordFailure('list', refused, { pages: 0, intervalMs: 0 })
      now += 1000
    }
    expect(isPaused()).toBe(false)
    backoff.recordFailure('list', new PamFailure('unreadable'), { pages: 150, intervalMs: INTERVAL_MS })
    const failedAt = now
    while (isPaused()) now += 1000
    pauses.push(now - failedAt)
  }
  expect(pauses).toEqual([1 / 8, 1 / 4, 1 / 2, 1, 1].map((share) => share * INTERVAL_MS))
})
