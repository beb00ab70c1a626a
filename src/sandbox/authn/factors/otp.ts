import { createHash } from 'node:crypto'
import { HOTP, Secret, TOTP } from 'otpauth'

const STEP_SECONDS = 30
/** How far a clock may be off, in steps; beyond that, and up to FAR, the code is known but out of its time. */
const NEAR = 2
const FAR = 10

export type OtpResult = 'right' | 'replayed' | 'outside-window' | 'wrong'

/** Checks a time-based code of RFC 6238 and marks its step as used. */
export function verifyTotp({
  secret,
  code,
  nowMs,
  usedSteps,
}: {
  secret: string
  code: string
  nowMs: number
  usedSteps: Set<number>
}): OtpResult {
  if (!/^\d{6}$/.test(code)) return 'wrong'
  const delta = totp(secret).validate({ token: code, timestamp: nowMs, window: FAR })
  if (delta === null) return 'wrong'
  const step = stepAt(nowMs) + delta
  if (usedSteps.has(step)) return 'replayed'
  if (Math.abs(delta) > NEAR) return 'outside-window'
  usedSteps.add(step)
  return 'right'
}

/** A code that is accepted now and for at least half a minute: the current one, or a later one when that was used already. */
export function nextTotpCode({
  secret,
  nowMs,
  usedSteps = new Set(),
}: {
  secret: string
  nowMs: number
  usedSteps?: ReadonlySet<number>
}): string {
  const unused = [0, 1, NEAR].find((delta) => !usedSteps.has(stepAt(nowMs) + delta)) ?? 0
  return totp(secret).generate({ timestamp: nowMs + unused * STEP_SECONDS * 1000 })
}

/** How many codes of a counter may have been shown without being used. */
const COUNTERS_AHEAD = 10

/** Checks a counter-based code of RFC 4226; it and the codes before it are used from then on. */
export function verifyHotp({
  secret,
  code,
  usedCounters,
}: {
  secret: string
  code: string
  usedCounters: Set<number>
}): OtpResult {
  const next = nextCounter(usedCounters)
  const counters = Array.from({ length: COUNTERS_AHEAD }, (_, at) => next + at)
  const counter = counters.find((one) => hotpCode({ secret, counter: one }) === code)
  if (counter === undefined) return 'wrong'
  usedCounters.add(counter)
  return 'right'
}

/** The code that the token shows next. */
export function nextHotpCode(secret: string, usedCounters: ReadonlySet<number>): string {
  return hotpCode({ secret, counter: nextCounter(usedCounters) })
}

function nextCounter(used: ReadonlySet<number>): number {
  return Math.max(-1, ...used) + 1
}

function hotpCode({ secret, counter }: { secret: string; counter: number }): string {
  return new HOTP({ secret: Secret.fromBase32(secret), digits: 6 }).generate({ counter })
}

/** The secret inside a hardware token, made from its credential id: the sandbox has no real ones. */
export function hardwareTokenSecret(credentialId: string): string {
  const digest = createHash('sha256').update(`hardware token ${credentialId}`).digest()
  return new Secret({ buffer: Uint8Array.from(digest.subarray(0, 20)).buffer }).base32
}

export function randomSecret(random: (count: number) => Buffer): string {
  return new Secret({ buffer: Uint8Array.from(random(10)).buffer }).base32
}

/** What an authenticator app reads out of the QR picture. */
export function otpauthUri({ login, secret }: { login: string; secret: string }): string {
  return new TOTP({ issuer: 'Gatehouse sandbox', label: login, secret: Secret.fromBase32(secret) }).toString()
}

function totp(secret: string): TOTP {
  return new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: STEP_SECONDS })
}

function stepAt(nowMs: number): number {
  return Math.floor(nowMs / 1000 / STEP_SECONDS)
}
