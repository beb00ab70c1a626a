import { describe, expect, test } from '@jest/globals'
import { attemptLimits, belowLockout } from '../../../src/authn/throttling/attempt-limits.ts'
import type { AttemptLimits } from '../../../src/authn/throttling/attempt-windows.ts'
import { defaultTunables } from '../../../src/config/tunables.ts'

const DAY_S = 86_400
const LIMITS = attemptLimits(defaultTunables().limits)

test('an account has at most 100 failures in a row in 30 days, as NIST SP 800-63B-4 demands', () => {
  for (const kind of ['password', 'code'] as const) {
    const windows = [LIMITS[kind].perUser?.inARow, LIMITS[kind].perKnownUser?.inARow]
    expect(windows.map((window) => window?.perSeconds)).toEqual([30 * DAY_S, 30 * DAY_S])
    expect(windows.reduce((sum, window) => sum + (window?.attempts ?? 0), 0)).toBe(100)
  }
})

describe('for an org that locks a user after so many wrong passwords', () => {
  const inARow = (limits: AttemptLimits) => limits.password.perUser?.inARow

  test.each([
    [10, 5],
    [11, 5],
    [4, 2],
    [3, 1],
    [2, 1],
    [1, 1],
    // more than the limit that applies anyway
    [1000, 60],
  ])('%d: strangers together have %d in a row, in the time of the limit before', (lockout, attempts) => {
    expect(inARow(LIMITS)).toEqual({ attempts: 60, perSeconds: 30 * DAY_S })
    expect(inARow(belowLockout(LIMITS, lockout))).toEqual({ attempts, perSeconds: 30 * DAY_S })
  })

  test('another time of the limit stays', () => {
    const perUser = { ...LIMITS.password.perUser, inARow: { attempts: 30, perSeconds: 7 * DAY_S } }
    const tuned = { ...LIMITS, password: { ...LIMITS.password, perUser } }
    expect(inARow(belowLockout(tuned, 10))).toEqual({ attempts: 5, perSeconds: 7 * DAY_S })
  })

  test.each([
    ['no limit of the user', undefined],
    ['none in a row', { burst: { attempts: 8, perSeconds: 600 } }],
  ])('with %s, there is one of 30 days', (_, perUser) => {
    const tuned = { ...LIMITS, password: { ...LIMITS.password, perUser } } as AttemptLimits
    const { password } = belowLockout(tuned, 10)
    expect(password.perUser).toEqual({ ...perUser, inARow: { attempts: 5, perSeconds: 30 * DAY_S } })
  })

  test('nothing else changes, and nothing at all without the setting', () => {
    const { password, ...others } = belowLockout(LIMITS, 10)
    const { perUser, ...scopes } = password
    const { password: passwordBefore, ...othersBefore } = LIMITS
    const { perUser: perUserBefore, ...scopesBefore } = passwordBefore
    expect([others, scopes]).toEqual([othersBefore, scopesBefore])
    expect({ ...perUser, inARow: undefined }).toEqual({ ...perUserBefore, inARow: undefined })
    expect(belowLockout(LIMITS, undefined)).toBe(LIMITS)
  })
})
