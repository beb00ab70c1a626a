import type { StartTimer } from './start-timer.ts'
import { UpstreamFailure } from './upstream-failure.ts'

/**
 * Limits the calls in flight to the number of connections, and to fewer while the upstream refuses calls because too many
 * run at once. Further calls wait for a limited time. The queue has no maximum length, because how many calls can wait in
 * time depends on how fast the upstream responds.
 */
export interface ConnectionLimiter {
  /** Resolves with the function that releases the connection; throws `UpstreamFailure` `pool_exhausted` when the budget is used up. */
  acquire(wait: ConnectionWait): Promise<ReleaseConnection>
}

/** `refused`: the upstream had too many calls at once. undefined: there was no response. */
export type ReleaseConnection = (result?: 'answered' | 'refused') => void

export interface ConnectionWait {
  /** Has priority over all calls that are not urgent. */
  readonly urgent: boolean
  /** The remaining time that this caller may wait; decreases as it waits. */
  readonly budget: { leftMs: number }
}

export interface ConnectionLimiterOptions {
  readonly max: number
  readonly monotonic: () => number
  readonly startTimer: StartTimer
  /** Called with the number of calls that may be in flight from now on. */
  readonly onChange?: ((limit: number, change: 'lowered' | 'raised') => void) | undefined
}

/** A lowered limit rises by one at most this often, while the upstream responds. */
const RAISE_EVERY_MS = 1000

export function createConnectionLimiter(options: ConnectionLimiterOptions): ConnectionLimiter {
  const limit = createAdaptiveLimit(options)
  const waiting = createWaitingCalls(options)
  let used = 0

  return {
    async acquire(wait) {
      if (used < limit.current()) used += 1
      else await waiting.add(wait)
      const loweredBefore = limit.timesLowered()
      return (result) => {
        if (result === 'refused' && loweredBefore === limit.timesLowered()) limit.lower(used)
        if (result === 'answered') limit.raise()
        used -= 1
        while (used < limit.current() && waiting.startNext()) used += 1
      }
    },
  }
}

/** Calls that wait for a connection, in order; urgent ones first. */
function createWaitingCalls({ monotonic, startTimer }: ConnectionLimiterOptions) {
  const queues = { urgent: new Set<() => void>(), other: new Set<() => void>() }

  return {
    /** Resolves when the call has been started; throws when its budget is used up. */
    async add({ urgent, budget }: ConnectionWait): Promise<void> {
      if (budget.leftMs <= 0) throw poolExhausted()
      const queue = urgent ? queues.urgent : queues.other
      const startedAt = monotonic()
      return new Promise((resolve, reject) => {
        const stopTimer = startTimer(() => {
          queue.delete(start)
          budget.leftMs = 0 // timers can fire up to a millisecond early
          reject(poolExhausted())
        }, budget.leftMs)
        const start = () => {
          stopTimer()
          queue.delete(start)
          budget.leftMs = Math.max(0, budget.leftMs - (monotonic() - startedAt))
          resolve()
        }
        queue.add(start)
      })
    },
    /** Whether there was a call to start. */
    startNext(): boolean {
      const [start] = queues.urgent.size > 0 ? queues.urgent : queues.other
      start?.()
      return start !== undefined
    },
  }
}

/** The number of calls that may be in flight: at most `max`, less after refusals. */
function createAdaptiveLimit({ max, monotonic, onChange }: ConnectionLimiterOptions) {
  let limit = max
  let changedAt = Number.NEGATIVE_INFINITY
  let timesLowered = 0

  return {
    current: () => limit,
    /** Calls that were sent before the limit was lowered are refused together, and lower it only once. */
    timesLowered: () => timesLowered,
    /** Halves the number of calls that were in flight, which were too many. */
    lower(used: number): void {
      timesLowered += 1
      change(Math.max(1, Math.floor(Math.min(limit, used) / 2)), 'lowered')
    },
    raise(): void {
      if (limit < max && monotonic() - changedAt >= RAISE_EVERY_MS) change(limit + 1, 'raised')
    },
  }

  function change(next: number, kind: 'lowered' | 'raised'): void {
    changedAt = monotonic()
    if (next !== limit) onChange?.(next, kind)
    limit = next
  }
}

export function poolExhausted(): UpstreamFailure {
  return new UpstreamFailure('pool_exhausted', { retryAfterMs: 1000 })
}
