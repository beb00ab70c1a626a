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
import { DependencyFailure } from '../observability/dependency-failure.ts'
import { UpstreamFailure } from './upstream-failure.ts'

export interface BreakerOptions {
  readonly consecutiveFailures?: number
  /** What counts as a failure. Default: connections that fail. */
  readonly outcomes?: readonly string[]
  readonly halfOpenAfterMs?: number
  readonly onChange?: (state: 'open' | 'closed') => void
}

/** Half of the calls in 30 seconds, if there were at least two calls per second. */
const TIMEOUT_SAMPLING = { threshold: 0.5, duration: 30_000, minimumRps: 2 }

/**
 * A circuit breaker that probes the upstream after a pause. It opens when connections fail several
 * times in a row. Time-outs open it only if they are the majority of many calls: one browser can
 * cause a few slow responses, and must not block the calls of others. A response is no failure,
 * whatever its status, unless the caller throws it.
 */
export function createBreaker({
  consecutiveFailures = 5,
  outcomes = ['unreachable', 'proxy_refused', 'connection_lost'],
  halfOpenAfterMs = 2000,
  onChange,
}: BreakerOptions = {}) {
  const circuit = (breaker: IBreaker, counted: readonly string[]) =>
    circuitBreaker(
      handleWhen((error) => error instanceof DependencyFailure && counted.includes(error.outcome)),
      { halfOpenAfter: halfOpenAfterMs, breaker },
    )
  const failures = circuit(new ConsecutiveBreaker(consecutiveFailures), outcomes)
  const timeouts = circuit(new SamplingBreaker(TIMEOUT_SAMPLING), ['timeout'])
  const both = wrap(failures, timeouts)
  const isOpen = () => failures.state !== CircuitState.Closed || timeouts.state !== CircuitState.Closed

  let wasOpen = false
  const reportChange = () => {
    if (isOpen() === wasOpen) return
    wasOpen = !wasOpen
    onChange?.(wasOpen ? 'open' : 'closed')
  }
  failures.onStateChange(reportChange)
  timeouts.onStateChange(reportChange)

  return {
    async run<T>(call: () => Promise<T>): Promise<T> {
      // cockatiel would make other calls wait for the probe
      const isProbing = [failures, timeouts].some(({ state }) => state === CircuitState.HalfOpen)
      if (isProbing) throw new UpstreamFailure('breaker_open', { retryAfterMs: halfOpenAfterMs })
      try {
        return await both.execute(call)
      } catch (error) {
        if (!(error instanceof BrokenCircuitError)) throw error
        throw new UpstreamFailure('breaker_open', { retryAfterMs: halfOpenAfterMs })
      }
    },
  }
}
