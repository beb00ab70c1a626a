import { expect, test } from '@jest/globals'
import { formatTimes, remainingMs } from '../../src/session/session-times.ts'
import { START, sessionWith } from './grant.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const LIMITS = { idleMs: 30 * MINUTE, absoluteMs: 12 * HOUR }

// shows: V7.3.1, V7.3.2
test.each([
  ['just opened', 0, 0, 30 * MINUTE],
  ['in use', 60 * MINUTE, 50 * MINUTE, 20 * MINUTE],
  ['idle since its sign-in, in its last millisecond', 30 * MINUTE - 1, 0, 1],
  ['idle for 30 minutes', 30 * MINUTE, 0, 0],
  ['idle for longer', 40 * MINUTE, 0, -10 * MINUTE],
  ['in use, less than 30 minutes before its absolute end', 11.75 * HOUR, 11.75 * HOUR, 15 * MINUTE],
  ['in use at its absolute end', 12 * HOUR, 12 * HOUR, 0],
])('a session that is %s: %d ms after its sign-in, last extended at %d, has %d ms', (_what, ...times) => {
  const [afterMs, extendedAfterMs, expected] = times
  const session = sessionWith({ lastSeenAtMs: START + extendedAfterMs })
  expect(remainingMs(session, { ...LIMITS, now: () => START + afterMs })).toBe(expected)
})

test('responses show when the session was opened and extended, and both ends', () => {
  const session = sessionWith({ lastSeenAtMs: START + 10 * MINUTE })
  expect(formatTimes(session, LIMITS)).toEqual({
    createdAt: '2026-11-05T06:00:00.000Z',
    lastSeenAt: '2026-11-05T06:10:00.000Z',
    idleExpiresAt: '2026-11-05T06:40:00.000Z',
    expiresAt: '2026-11-05T18:00:00.000Z',
  })
})

test('the idle end is never shown after the absolute one', () => {
  const session = sessionWith({ lastSeenAtMs: START + 11.75 * HOUR })
  expect(formatTimes(session, LIMITS)).toMatchObject({
    idleExpiresAt: '2026-11-05T18:00:00.000Z',
    expiresAt: '2026-11-05T18:00:00.000Z',
  })
})
