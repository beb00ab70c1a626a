import type { Session } from '../../src/session/session.ts'

export const START = Date.parse('2026-11-05T06:00:00Z')

/** What a sign-in shows. */
export type SessionGrant = Omit<Session, 'publicId' | 'createdAtMs' | 'authenticatedAtMs' | 'lastSeenAtMs'>

export const GRANT: SessionGrant = {
  userId: '00u1person',
  login: 'ada@example.com',
  profile: { firstName: 'Ada', login: 'ada@example.com' },
  amr: ['pwd', 'otp', 'mfa'],
  loginHash: 'hash-of-login',
  deviceId: 'of-a-test',
  deviceHash: 'hash-of-device',
  userAgent: 'Test/1',
}

/** A session that a sign-in opened at START. */
export const sessionWith = (changed: Partial<Session> = {}): Session => ({
  ...GRANT,
  publicId: 'public-id',
  createdAtMs: START,
  authenticatedAtMs: START,
  lastSeenAtMs: START,
  ...changed,
})
