import type { StartTimer } from './start-timer.ts'
import { UpstreamFailure } from './upstream-failure.ts'

/**
 * As many calls at once as there are connections. Further calls wait for a limited time, in a queue of any length: how
 * many can wait depends on how fast the upstream answers.
 */
export interface ConnectionSlots {
  /** Resolves with the function that gives the slot back; throws `UpstreamFailure` `busy` when the budget is over first. */
  acquire(wait: SlotWait): Promise<() => void>
}

export interface SlotWait {
  /** Gets the next free connection before all calls that are not urgent. */
  readonly urgent: boolean
  /** What this caller may still spend waiting; counted down. */
  readonly budget: { leftMs: number }
}

export interface ConnectionSlotsParts {
  readonly max: number
  readonly monotonic: () => number
  readonly startTimer: StartTimer
}

export const BUSY_RETRY_MS = 1000

export function createConnectionSlots({ max, monotonic, startTimer }: ConnectionSlotsParts): ConnectionSlots {
  const queues = { urgent: new Set<() => void>(), other: new Set<() => void>() }
  let used = 0

  return {
    async acquire({ urgent, budget }) {
      if (used < max) used += 1
      else await takeOver(urgent ? queues.urgent : queues.other, budget)
      return release
    },
  }

  /** Waits for a slot that a caller gives back: it is handed on without becoming free in between. */
  function takeOver(queue: Set<() => void>, budget: { leftMs: number }): Promise<void> {
    if (budget.leftMs <= 0) return Promise.reject(busy())
    const startedAt = monotonic()
    return new Promise((resolve, reject) => {
      const stopTimer = startTimer(() => {
        queue.delete(take)
        budget.leftMs = 0 // timers can fire up to a millisecond early
        reject(busy())
      }, budget.leftMs)
      const take = () => {
        stopTimer()
        queue.delete(take)
        budget.leftMs = Math.max(0, budget.leftMs - (monotonic() - startedAt))
        resolve()
      }
      queue.add(take)
    })
  }

  function release(): void {
    const [next] = queues.urgent.size > 0 ? queues.urgent : queues.other
    if (next === undefined) used -= 1
    else next()
  }
}

function busy(): UpstreamFailure {
  return new UpstreamFailure('busy', { retryAfterMs: BUSY_RETRY_MS })
}
