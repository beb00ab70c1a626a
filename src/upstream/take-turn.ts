import type { LimitFunction } from 'p-limit'
import { startTimer } from './timer.ts'
import { UpstreamFailure } from './upstream-failure.ts'

const RETRY_AFTER_MS = 1000

/**
 * Waits until `limit` allows another call. Returns a function that ends the turn. Throws
 * `pool_exhausted` after `maxWaitMs`.
 */
export function takeTurn(limit: LimitFunction, maxWaitMs: number, start = startTimer): Promise<() => void> {
  return new Promise((resolve, reject) => {
    let isLate = false
    const stopTimer = start(() => {
      isLate = true
      reject(new UpstreamFailure('pool_exhausted', { retryAfterMs: RETRY_AFTER_MS }))
    }, maxWaitMs)
    const turn = (endTurn: () => void) => {
      stopTimer()
      if (isLate) endTurn()
      else resolve(endTurn)
    }
    void limit(() => new Promise<void>(turn))
  })
}
