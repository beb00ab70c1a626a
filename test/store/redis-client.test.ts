import { expect, test } from '@jest/globals'
import { backoffMs } from '../../src/store/redis-client.ts'

test('the time between attempts to connect doubles up to two seconds, with random jitter of up to half', () => {
  const latest = [1, 2, 3, 10, 1000].map((attempt) => backoffMs(attempt, () => 1))
  expect(latest).toEqual([50, 100, 200, 2000, 2000])
  expect([1, 1000].map((attempt) => backoffMs(attempt, () => 0))).toEqual([25, 1000])
})
