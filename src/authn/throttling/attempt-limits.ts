import type { AttemptLimits } from './attempt-windows.ts'

/**
 * The limits that operators can change, as in `config/default.json`: those that a NAT or the org's
 * lockout decides.
 */
export type TunedLimits = Pick<AttemptLimits, 'call' | 'password' | 'token' | 'message' | 'recovery'>

/** All limits. */
export const attemptLimits = (tuned: TunedLimits): AttemptLimits => ({
  call: { ...tuned.call, ...FIXED.call },
  password: { ...tuned.password, ...FIXED.password },
  code: FIXED.code,
  token: tuned.token,
  message: { ...tuned.message, ...FIXED.message },
  push: FIXED.push,
  recovery: { ...tuned.recovery, ...FIXED.recovery },
})

/**
 * Limits for an org that locks a user after this many wrong passwords in a row. All unknown devices
 * together get half of them until the next full sign-in, so that strangers cannot lock the account
 * for the user's known devices, which keep the other half. Undefined: the limits stay.
 */
export function belowLockout(limits: AttemptLimits, lockoutAttempts: number | undefined): AttemptLimits {
  if (lockoutAttempts === undefined) return limits
  const { perUser, ...others } = limits.password
  const ofStrangers = Math.max(1, Math.floor(lockoutAttempts / 2))
  const inARow = {
    perSeconds: perUser?.inARow?.perSeconds ?? 30 * DAY,
    attempts: Math.min(ofStrangers, perUser?.inARow?.attempts ?? ofStrangers),
  }
  return { ...limits, password: { ...others, perUser: { ...perUser, inARow } } }
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400] as const

const at = (attempts: number, perSeconds: number) => ({ attempts, perSeconds })

/**
 * With the 60 of `perUser`, at most 100 failures in a row for an account (NIST SP 800-63B-4,
 * section 3.2.2).
 */
const IN_A_ROW_ON_KNOWN_DEVICES = at(40, 30 * DAY)

/** docs/configuration.md#limits has the reason for each. */
const FIXED = {
  call: {
    perKnownDevice: { burst: at(100, MINUTE), sustained: at(600, HOUR) },
  },
  password: {
    perDevice: { burst: at(5, 10 * MINUTE), sustained: at(10, DAY) },
    perKnownDevice: { burst: at(8, 10 * MINUTE), sustained: at(15, DAY), inARow: at(20, 30 * DAY) },
    perKnownUser: { burst: at(24, 10 * MINUTE), sustained: at(45, DAY), inARow: IN_A_ROW_ON_KNOWN_DEVICES },
  },
  code: {
    perUser: { burst: at(10, 10 * MINUTE), sustained: at(20, DAY), inARow: at(60, 30 * DAY) },
    perTransaction: { burst: at(8, HOUR) },
    perKnownDevice: { burst: at(10, 10 * MINUTE), sustained: at(15, DAY), inARow: at(20, 30 * DAY) },
    perKnownUser: { burst: at(30, 10 * MINUTE), sustained: at(45, DAY), inARow: IN_A_ROW_ON_KNOWN_DEVICES },
  },
  message: {
    perUser: { burst: at(6, 10 * MINUTE), sustained: at(20, DAY) },
    perKnownDevice: { burst: at(6, 10 * MINUTE), sustained: at(20, DAY) },
    perKnownUser: { burst: at(12, 10 * MINUTE), sustained: at(40, DAY) },
  },
  push: {
    perUser: { burst: at(5, 5 * MINUTE), sustained: at(20, DAY) },
    perKnownDevice: { burst: at(5, 5 * MINUTE), sustained: at(40, DAY) },
    perKnownUser: { burst: at(10, 5 * MINUTE), sustained: at(80, DAY) },
  },
  recovery: {
    perUser: { burst: at(5, HOUR), sustained: at(10, DAY) },
    perKnownDevice: { burst: at(5, HOUR), sustained: at(10, DAY) },
    perKnownUser: { burst: at(10, HOUR), sustained: at(20, DAY) },
  },
} as const
