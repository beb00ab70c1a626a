import { type Finding, fail, ok, warn } from './finding.ts'

const CLOCK_WARN_MS = 30_000
const CLOCK_FAIL_MS = 300_000

/** Judges another clock by that of this machine. */
export function judgeClocks(otherMs: number, nowMs: number): Finding {
  const offMs = Math.abs(nowMs - otherMs)
  const detail = `the clocks differ by ${Math.round(offMs / 1000)} s`
  const fix = 'Synchronize the clock of this machine (NTP), or that of the other one.'
  if (offMs > CLOCK_FAIL_MS) return fail(detail, fix)
  return offMs > CLOCK_WARN_MS ? warn(detail, fix) : ok(detail)
}
