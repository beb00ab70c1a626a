import { createHash } from 'node:crypto'
import { HOTP, Secret, TOTP } from 'otpauth'

const STEP_SECONDS = 30
/** Codes within this many time steps of the clock are accepted. */
const ACCEPTED_STEPS = 2
/** Codes within this many time steps are recognized as outside the window. */
const RECOGNIZED_STEPS = 10

export type OtpResult = 'valid' | 'replayed' | 'outside-window' | 'invalid'

/** Verifies a TOTP code (RFC 6238) and marks its time step as used. */
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
  if (!/^\d{6}$/.test(code)) return 'invalid'
  const delta = totp(secret).validate({ token: code, timestamp: nowMs, window: RECOGNIZED_STEPS })
  if (delta === null) return 'invalid'
  const step = stepAt(nowMs) + delta
  if (usedSteps.has(step)) return 'replayed'
  if (Math.abs(delta) > ACCEPTED_STEPS) return 'outside-window'
  usedSteps.add(step)
  return 'valid'
}

/**
 * A TOTP code that is accepted for at least 30 seconds: the current one, or a later one if the
 * current one is used.
 */
export function nextTotpCode({
  secret,
  nowMs,
  usedSteps = new Set(),
}: {
  secret: string
  nowMs: number
  usedSteps?: ReadonlySet<number>
}): string {
  const unused = [0, 1, ACCEPTED_STEPS].find((delta) => !usedSteps.has(stepAt(nowMs) + delta)) ?? 0
  return totp(secret).generate({ timestamp: nowMs + unused * STEP_SECONDS * 1000 })
}

/** The look-ahead window of RFC 4226: how many codes the token may be ahead of the server. */
const LOOK_AHEAD_WINDOW = 10

/** Verifies an HOTP code (RFC 4226) and marks it, and all codes before it, as used. */
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
  const counters = Array.from({ length: LOOK_AHEAD_WINDOW }, (_, index) => next + index)
  const counter = counters.find((candidate) => hotpCode({ secret, counter: candidate }) === code)
  if (counter === undefined) return 'invalid'
  usedCounters.add(counter)
  return 'valid'
}

export function nextHotpCode(secret: string, usedCounters: ReadonlySet<number>): string {
  return hotpCode({ secret, counter: nextCounter(usedCounters) })
}

function nextCounter(used: ReadonlySet<number>): number {
  return Math.max(-1, ...used) + 1
}

function hotpCode({ secret, counter }: { secret: string; counter: number }): string {
  return new HOTP({ secret: Secret.fromBase32(secret), digits: 6 }).generate({ counter })
}

/** A simulated hardware token's secret, derived from its serial number (`credentialId`). */
export function hardwareTokenSecret(credentialId: string): string {
  const digest = createHash('sha256').update(`hardware token ${credentialId}`).digest()
  return new Secret({ buffer: Uint8Array.from(digest.subarray(0, 20)).buffer }).base32
}

export function randomSecret(random: (count: number) => Buffer): string {
  return new Secret({ buffer: Uint8Array.from(random(10)).buffer }).base32
}

/** The content of the QR code. */
export function otpauthUri({ login, secret }: { login: string; secret: string }): string {
  return new TOTP({ issuer: 'Gatehouse sandbox', label: login, secret: Secret.fromBase32(secret) }).toString()
}

function totp(secret: string): TOTP {
  return new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: STEP_SECONDS })
}

function stepAt(nowMs: number): number {
  return Math.floor(nowMs / 1000 / STEP_SECONDS)
}
