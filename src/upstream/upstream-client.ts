import { Axios, type AxiosResponse } from 'axios'
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
import {
  type ConnectionOptions,
  type ConnectionWait,
  createConnectionLimiter,
  createDispatcher,
  createUndiciAdapter,
  poolExhausted,
} from './connections.ts'
import { startTimer } from './start-timer.ts'
import { UpstreamFailure, type UpstreamOutcome } from './upstream-failure.ts'

/** Sends calls to one origin, with a time limit. It never follows redirects and never sends a call twice. */
export interface UpstreamClient {
  /** Resolves for every status; throws `UpstreamFailure` if there is no complete response. */
  send(request: UpstreamRequest): Promise<UpstreamResponse>
  breakerIsOpen(): boolean
  close(): Promise<void>
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST'
  /** Starts with `/`; may contain a query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as a form instead of `body`. */
  readonly form?: URLSearchParams
  /** In milliseconds. The client's own limit applies too. */
  readonly timeoutMs?: number
  /** The wait for a free connection, which is part of the time limit. Default: urgent, up to `MAX_WAIT_MS`. */
  readonly wait?: ConnectionWait
}

export interface UpstreamResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The parsed body; undefined if it is empty, not JSON or not declared as JSON. */
  readonly json: unknown
  readonly bytes: Buffer
}

export interface UpstreamClientOptions extends ConnectionOptions {
  /** Only its origin is used. */
  readonly baseUrl: string
  readonly breaker: BreakerOptions
  /** The label in metrics. */
  readonly name: 'authn' | 'pam'
  readonly metrics: { readonly upstreamRequestDuration: CallMetric }
}

/** `outcome` is the status, or the outcome of the failure. */
export interface CallMetric {
  observe(labels: { readonly upstream: string; readonly outcome: string }, seconds: number): void
}

/** The longest wait for a free connection. */
const MAX_WAIT_MS = 2000

const monotonic = () => performance.now()

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { origin } = new URL(options.baseUrl)
  const dispatcher = createDispatcher(options)
  const breaker = createBreaker(options.breaker)
  const connections = createConnectionLimiter({ max: options.maxConnections, monotonic, startTimer })
  // not `axios.create`: its defaults, which are not needed here, would be merged into every call
  const http = new Axios({ adapter: createUndiciAdapter(dispatcher), baseURL: origin })

  return {
    breakerIsOpen: breaker.isOpen,
    close: () => dispatcher.destroy(),

    async send(request) {
      const startedAt = monotonic()
      let outcome = 'error'
      try {
        const response = toUpstreamResponse(await call(pathOn(origin, request.path), request, startedAt))
        outcome = String(response.status)
        return response
      } catch (error) {
        if (error instanceof UpstreamFailure) outcome = error.outcome
        throw error
      } finally {
        const seconds = (monotonic() - startedAt) / 1000
        options.metrics.upstreamRequestDuration.observe({ upstream: options.name, outcome }, seconds)
      }
    },
  }

  async function call(url: string, request: UpstreamRequest, startedAt: number) {
    const timeoutMs = Math.min(request.timeoutMs ?? options.totalTimeoutMs, options.totalTimeoutMs)
    const release = await connections.acquire(request.wait ?? defaultWait(timeoutMs))
    try {
      const timeout = Math.ceil(startedAt + timeoutMs - monotonic())
      if (timeout <= 0) throw poolExhausted()
      const config = { method: request.method, url, timeout, ...contentOf(request) }
      return await breaker.run(() => http.request<Buffer>(config))
    } finally {
      release()
    }
  }
}

function defaultWait(timeoutMs: number): ConnectionWait {
  return { urgent: true, budget: { leftMs: Math.min(timeoutMs, MAX_WAIT_MS) } }
}

/** Normalizes path and query. */
function pathOn(origin: string, path: string): string {
  const url = new URL(path, origin)
  if (url.origin !== origin) throw new Error('an upstream path must stay on its origin')
  return url.pathname + url.search
}

function contentOf({ headers, body, form }: UpstreamRequest) {
  const accept = { 'Accept-Encoding': 'identity' }
  if (form !== undefined) {
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
    return { headers: { ...headers, ...type, ...accept }, data: form.toString() }
  }
  if (body === undefined) return { headers: { ...headers, ...accept } }
  const type = { 'Content-Type': 'application/json' }
  return { headers: { ...type, ...headers, ...accept }, data: JSON.stringify(body) }
}

function toUpstreamResponse(response: AxiosResponse<Buffer>): UpstreamResponse {
  const headers = response.headers as UpstreamResponse['headers']
  const json = parseJson(headers['content-type'], response.data)
  return { status: response.status, headers, json, bytes: response.data }
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i

function parseJson(contentType: string | string[] | undefined, bytes: Buffer): unknown {
  if (typeof contentType !== 'string' || !JSON_TYPE.test(contentType) || bytes.length === 0) return undefined
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined // treated like a response without content
  }
}

/**
 * A circuit breaker that probes the upstream after a pause. It opens when connections fail several times in a row. Time-outs open
 * it only if they are the majority of many calls: one browser can cause a few slow responses, and must not block the calls of others.
 * A response is no failure, whatever its status.
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
    isOpen,
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
