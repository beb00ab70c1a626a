import {
  BrokenCircuitError,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  IsolatedCircuitError,
} from 'cockatiel'
import { UpstreamFailure } from './upstream-failure.ts'

/**
 * Stops calling an upstream that has failed several times in a row; after a pause one call probes it, and its
 * success closes the breaker again. Failures are time-outs, refused or cut connections; an answer is none.
 */
export interface Breaker {
  run<T>(call: () => Promise<T>): Promise<T>
  isOpen(): boolean
}

export interface BreakerOptions {
  readonly consecutiveFailures: number
  readonly halfOpenAfterMs: number
  readonly onChange?: (state: 'open' | 'closed') => void
}

export function createBreaker({ consecutiveFailures, halfOpenAfterMs, onChange }: BreakerOptions): Breaker {
  const policy = circuitBreaker(
    handleWhen((error) => error instanceof UpstreamFailure && error.kind !== 'too-large'),
    { halfOpenAfter: halfOpenAfterMs, breaker: new ConsecutiveBreaker(consecutiveFailures) },
  )
  let open = false
  policy.onBreak(() => {
    open = true
    onChange?.('open')
  })
  policy.onReset(() => {
    open = false
    onChange?.('closed')
  })

  return {
    isOpen: () => open,
    async run(call) {
      try {
        return await policy.execute(call)
      } catch (error) {
        if (error instanceof BrokenCircuitError || error instanceof IsolatedCircuitError) {
          throw new UpstreamFailure('breaker-open', { retryAfterMs: halfOpenAfterMs })
        }
        throw error
      }
    },
  }
}
