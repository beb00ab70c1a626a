import { rootCertificates } from 'node:tls'
import { type AxiosAdapter, AxiosHeaders, type AxiosResponse } from 'axios'
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
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici'
import type { StartTimer } from './start-timer.ts'
import {
  poolExhausted,
  toConnectionFailure,
  UpstreamFailure,
  type UpstreamOutcome,
} from './upstream-failure.ts'

export interface ConnectionOptions {
  readonly connectTimeoutMs: number
  readonly totalTimeoutMs: number
  readonly maxResponseBytes: number
  readonly maxConnections: number
  /** PEM of private certificate authorities, in addition to the public ones. */
  readonly ca?: readonly string[] | undefined
  readonly httpsProxy?: string | undefined
  readonly noProxy?: string | undefined
}

/** The egress proxy is used for https only: plain http goes only to this host, and its credentials must not leave it. */
export function createDispatcher(options: ConnectionOptions): Dispatcher {
  const connect = {
    timeout: options.connectTimeoutMs,
    ...(options.ca === undefined ? {} : { ca: [...rootCertificates, ...options.ca] }),
  }
  const settings = {
    connections: options.maxConnections,
    connect,
    headersTimeout: options.totalTimeoutMs,
    bodyTimeout: options.totalTimeoutMs,
    maxResponseSize: options.maxResponseBytes,
  }
  if (options.httpsProxy === undefined) return new Agent(settings)
  return new EnvHttpProxyAgent({
    ...settings,
    requestTls: connect,
    proxyTls: connect,
    httpProxy: '',
    httpsProxy: options.httpsProxy,
    noProxy: options.noProxy ?? '',
  })
}

/**
 * An axios adapter on an undici dispatcher, which provides the connection pool, connect time-out, egress proxy and private certificate
 * authorities. A request takes half the processor time of axios' own adapter. Redirects are never followed. `data` is a Buffer of at
 * most `maxResponseBytes`.
 */
export function createUndiciAdapter(dispatcher: Dispatcher): AxiosAdapter {
  return async (config): Promise<AxiosResponse<Buffer>> => {
    // not `AbortSignal.timeout`: it stays in memory until its time is over, even after the response
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(new DOMException('', 'TimeoutError')), config.timeout ?? 0)
    try {
      const response = await dispatcher.request({
        origin: config.baseURL ?? '',
        path: config.url ?? '/', // not resolved against the origin, so `//host/path` cannot change the host
        method: (config.method ?? 'GET').toUpperCase() as Dispatcher.HttpMethod,
        headers: AxiosHeaders.from(config.headers).toJSON() as Record<string, string>,
        body: typeof config.data === 'string' ? config.data : null,
        signal: abort.signal,
      })
      const data = Buffer.from(await response.body.arrayBuffer()) // the dispatcher limits the size
      const headers = response.headers as AxiosResponse['headers']
      return { data, status: response.statusCode, statusText: '', headers, config }
    } catch (error) {
      throw toConnectionFailure(error)
    } finally {
      clearTimeout(timer)
    }
  }
}

/**
 * A circuit breaker that probes the upstream after a pause. It opens when connections fail several times in a row. Time-outs open
 * it only if they are the majority of many calls: one browser can cause a few slow responses, and must not block the calls of others.
 * A response is no failure, whatever its status.
 */
export interface Breaker {
  run<T>(call: () => Promise<T>): Promise<T>
}

export interface BreakerOptions {
  readonly consecutiveFailures: number
  readonly halfOpenAfterMs: number
  readonly onChange?: (state: 'open' | 'closed') => void
}

/** Half of the calls in 30 seconds, if there were at least two calls per second. */
const TIMEOUT_SAMPLING = { threshold: 0.5, duration: 30_000, minimumRps: 2 }

export function createBreaker({ consecutiveFailures, halfOpenAfterMs, onChange }: BreakerOptions): Breaker {
  const circuit = (breaker: IBreaker, ...outcomes: UpstreamOutcome[]) =>
    circuitBreaker(
      handleWhen((error) => error instanceof UpstreamFailure && outcomes.includes(error.outcome)),
      { halfOpenAfter: halfOpenAfterMs, breaker },
    )
  const failures = circuit(new ConsecutiveBreaker(consecutiveFailures), 'unreachable', 'connection_lost')
  const timeouts = circuit(new SamplingBreaker(TIMEOUT_SAMPLING), 'timeout')
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
    async run(call) {
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

/** `refused`: the upstream had too many calls at once. undefined: there was no response. */
type ReleaseConnection = (result?: 'answered' | 'refused') => void

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

/**
 * Limits the calls in flight to the number of connections, and to fewer while the upstream refuses calls because too many
 * run at once. Further calls wait for a limited time. The queue has no maximum length, because how many calls can wait in
 * time depends on how fast the upstream responds.
 */
export function createConnectionLimiter(options: ConnectionLimiterOptions) {
  const limit = createAdaptiveLimit(options)
  const waiting = createWaitingCalls(options)
  let used = 0

  return {
    /** Resolves with the function that releases the connection; throws `pool_exhausted` when the budget is used up. */
    async acquire(wait: ConnectionWait): Promise<ReleaseConnection> {
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
