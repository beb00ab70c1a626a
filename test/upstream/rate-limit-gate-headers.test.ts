import { expect, test } from '@jest/globals'
import { readRateLimit } from '../../src/upstream/rate-limit-gate.ts'

const NOW_MS = Date.parse('2030-01-01T00:00:00.500Z')
const at = (seconds: number) => Math.floor(NOW_MS / 1000) + seconds
const secondsUntil = (headers: Record<string, string>) => {
  const { untilMs } = readRateLimit({ headers }, 'x-ratelimit', NOW_MS)
  return untilMs === undefined ? undefined : Math.round((untilMs - NOW_MS) / 1000) + 0 // not -0
}

test.each<[Record<string, string>, number | undefined]>([
  [{ 'x-ratelimit-reset': `${at(30)}` }, 30],
  [{ 'x-ratelimit-reset': `${at(30)}000` }, 30],
  [{ 'x-ratelimit-retry-at': `${at(5)}` }, 5],
  [{ 'x-ratelimit-retry-at': `${at(5)}250` }, 5],
  [{ 'x-ratelimit-retry-at': `${at(5)}.25` }, 5],
  // the earlier one, in either unit
  [{ 'x-ratelimit-retry-at': `${at(5)}`, 'x-ratelimit-reset': `${at(30)}` }, 5],
  [{ 'x-ratelimit-retry-at': `${at(30)}`, 'x-ratelimit-reset': `${at(5)}` }, 5],
  [{ 'x-ratelimit-retry-at': `${at(30)}000`, 'x-ratelimit-reset': `${at(5)}` }, 5],
  [{ 'x-ratelimit-retry-at': `${at(30)}`, 'x-ratelimit-reset': `${at(5)}000` }, 5],
  // whole seconds can be slightly earlier than the time of the response
  [{ 'x-ratelimit-retry-at': `${at(0)}`, 'x-ratelimit-reset': `${at(30)}` }, 0],
  // a time in the past is ignored
  [{ 'x-ratelimit-retry-at': '0', 'x-ratelimit-reset': `${at(30)}` }, 30],
  [{ 'x-ratelimit-retry-at': `${at(-600)}`, 'x-ratelimit-reset': `${at(30)}` }, 30],
  [{ 'x-ratelimit-retry-at': 'soon', 'x-ratelimit-reset': '-1' }, undefined],
  [{}, undefined],
  // Retry-After (RFC 9110, section 10.2.3), if the others are missing
  [{ 'retry-after': '7' }, 7],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': 'Tue, 01 Jan 2030 00:01:00 GMT' }, 60],
  [{ 'retry-after': 'Tuesday, 01-Jan-30 00:01:00 GMT' }, 60],
  [{ 'retry-after': 'Tue Jan  1 00:01:00 2030' }, 60],
  [{ 'retry-after': 'soon 1' }, undefined],
  [{ 'retry-after': '1 Jan 2030' }, undefined],
  [{ 'retry-after': 'Tue, 99 Foo 2030 00:01:00 GMT' }, undefined],
  [{ 'retry-after': '7', 'x-ratelimit-reset': '0', 'x-ratelimit-retry-at': '0' }, 7],
  [{ 'retry-after': '7', 'x-ratelimit-reset': `${at(30)}` }, 30],
])('%j: %s s', (headers, expected) => {
  expect(secondsUntil(headers)).toBe(expected)
})

test('the Authentication API uses other header names', () => {
  const headers = {
    'x-rate-limit-limit': '600',
    'x-rate-limit-remaining': '0',
    'x-rate-limit-reset': `${at(60)}000`,
  }
  expect(readRateLimit({ headers }, 'x-rate-limit', NOW_MS)).toEqual({
    limit: 600,
    remaining: 0,
    untilMs: at(60) * 1000,
    resetMs: at(60) * 1000,
  })
})
