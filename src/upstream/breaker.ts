import {
  BrokenCircuitError,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  type IBreaker,
  SamplingBreaker,
  wrap,
} from 'cockatiel'
import { UpstreamFailure, type UpstreamOutcome } from './upstream-failure.ts'

/**
 * Stops calling an upstream that does not work, and probes it after a pause. It opens on connections refused or cut
 * several times in a row, and on time-outs only if they are most of many calls: one browser could cause a few slow
 * answers, and must not stop the calls of others. An answer, whatever its status, is no failure.
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

/** Time-outs: half of the calls of half a minute, and at least two calls a second in it. */
const SLOW = { threshold: 0.5, duration: 30_000, minimumRps: 2 }

export function createBreaker({ consecutiveFailures, halfOpenAfterMs, onChange }: BreakerOptions): Breaker {
  const circuit = (breaker: IBreaker, ...outcomes: UpstreamOutcome[]) =>
    circuitBreaker(
      handleWhen((error) => error instanceof UpstreamFailure && outcomes.includes(error.outcome)),
      { halfOpenAfter: halfOpenAfterMs, breaker },
    )
  const broken = circuit(new ConsecutiveBreaker(consecutiveFailures), 'unreachable', 'cut')
  const slow = circuit(new SamplingBreaker(SLOW), 'timeout')
  const both = wrap(broken, slow)
  const isOpen = () => broken.state !== CircuitState.Closed || slow.state !== CircuitState.Closed

  let wasOpen = false
  const reportChange = () => {
    if (isOpen() === wasOpen) return
    wasOpen = !wasOpen
    onChange?.(wasOpen ? 'open' : 'closed')
  }
  broken.onStateChange(reportChange)
  slow.onStateChange(reportChange)

  return {
    isOpen,
    async run(call) {
      // one call probes; others do not wait for it, as cockatiel would have them do
      const isProbing = [broken, slow].some(({ state }) => state === CircuitState.HalfOpen)
      if (isProbing) throw new UpstreamFailure('breaker-open', { retryAfterMs: halfOpenAfterMs })
      try {
        return await both.execute(call)
      } catch (error) {
        if (!(error instanceof BrokenCircuitError)) throw error
        throw new UpstreamFailure('breaker-open', { retryAfterMs: halfOpenAfterMs })
      }
    },
  }
}
