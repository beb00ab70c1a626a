import type { CheckState } from './health.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'

export interface ClockCheckOptions {
  /** The store's time in milliseconds since 1970. */
  readonly storeTime: () => Promise<number>
  /** The same of each upstream by its last `Date`; undefined if there was none. */
  readonly upstreamTimes: Readonly<Record<string, () => number | undefined>>
  /** The clock of this replica. */
  readonly now: () => number
  readonly log: Pick<Logger, 'error' | 'info'>
  readonly metrics: Pick<Metrics, 'clockOffset'>
}

export type ClockCheck = ReturnType<typeof createClockCheck>

/** As in the doctor's `authn.clock`. */
const WRONG_MS = 30_000
/** From here on, users are signed out too early, or too late. */
const UNUSABLE_MS = 300_000

/**
 * Compares the clock of this replica with those around it. It makes the replica not ready only if
 * all of them are far from it: if Redis alone disagrees, all replicas would leave at once.
 */
export function createClockCheck({ storeTime, upstreamTimes, now, log, metrics }: ClockCheckOptions) {
  let state: CheckState = 'unknown'
  let isUsable = true

  async function check(): Promise<void> {
    const sentAt = now()
    const storeMs = await storeTime()
    const offsets = { store: leastOffset(storeMs, sentAt, now()), ...upstreamOffsets() }
    for (const [source, offsetMs] of Object.entries(offsets))
      metrics.clockOffset.set({ source }, offsetMs / 1000)

    const wrong = Object.entries(offsets).find(([, offsetMs]) => Math.abs(offsetMs) > WRONG_MS)
    if (wrong !== undefined && state !== 'failing')
      log.error('clock_disagrees', { dependency: wrong[0], offsetMs: Math.round(wrong[1]) })
    if (wrong === undefined && state === 'failing') log.info('clock_agrees')
    state = wrong === undefined ? 'ok' : 'failing'

    const all = Object.values(offsets)
    isUsable = all.length === 1 || all.some((offsetMs) => Math.abs(offsetMs) <= UNUSABLE_MS)
  }

  function upstreamOffsets(): Record<string, number> {
    const times = Object.entries(upstreamTimes).map(([name, time]) => [name, time()] as const)
    return Object.fromEntries(
      times.flatMap(([name, timeMs]) => (timeMs === undefined ? [] : [[name, now() - timeMs] as const])),
    )
  }

  return { check, state: () => state, isUsable: () => isUsable }
}

/** By how much this clock is ahead at least: the other one was read at some time in between. */
function leastOffset(otherMs: number, sentAt: number, receivedAt: number): number {
  if (otherMs < sentAt) return sentAt - otherMs
  return Math.min(0, receivedAt - otherMs)
}
