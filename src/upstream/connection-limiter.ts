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
  const { monotonic, startTimer } = options
  const queues = { urgent: new Set<() => void>(), other: new Set<() => void>() }
  const limit = createAdaptiveLimit(options)
  let used = 0

  return {
    async acquire({ urgent, budget }) {
      if (used < limit.current()) used += 1
      else await waitForRelease(urgent ? queues.urgent : queues.other, budget)
      const loweredBefore = limit.timesLowered()
      return (result) => {
        if (result === 'refused' && loweredBefore === limit.timesLowered()) limit.lower(used)
        if (result === 'answered') limit.raise()
        used -= 1
        startWaiting()
      }
    },
  }

  function waitForRelease(queue: Set<() => void>, budget: { leftMs: number }): Promise<void> {
    if (budget.leftMs <= 0) return Promise.reject(poolExhausted())
    const startedAt = monotonic()
    return new Promise((resolve, reject) => {
      const stopTimer = startTimer(() => {
        queue.delete(onRelease)
        budget.leftMs = 0 // timers can fire up to a millisecond early
        reject(poolExhausted())
      }, budget.leftMs)
      const onRelease = () => {
        stopTimer()
        queue.delete(onRelease)
        budget.leftMs = Math.max(0, budget.leftMs - (monotonic() - startedAt))
        resolve()
      }
      queue.add(onRelease)
    })
  }

  /** Passes free connections directly to waiting calls. */
  function startWaiting(): void {
    while (used < limit.current()) {
      const [next] = queues.urgent.size > 0 ? queues.urgent : queues.other
      if (next === undefined) return
      used += 1
      next()
    }
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
