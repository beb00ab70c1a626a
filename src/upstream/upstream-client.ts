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

/** The only way to an upstream. Calls go to one origin, end within a time limit, follow no redirect and are never sent twice. */
export interface UpstreamClient {
  /** Throws `UpstreamFailure` if there is no whole answer; any status is an answer. */
  send(request: UpstreamRequest): Promise<UpstreamResponse>
  breakerIsOpen(): boolean
  close(): Promise<void>
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST'
  /** Begins with `/`; may have a query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as a form, in place of `body`. */
  readonly form?: URLSearchParams
  /** Shorter than the client's own time limit, in milliseconds. */
  readonly timeoutMs?: number
  /** The wait for a free connection. Default: urgent, up to `MAX_WAIT_MS`. It counts towards the time-out. */
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
  /** Only its origin counts: each request brings its whole path. */
  readonly baseUrl: string
  readonly breaker: BreakerOptions
  /** The label of its metrics. */
  readonly name: 'authn' | 'pam'
  readonly metrics: { readonly upstreamRequestDuration: CallMetric }
}

/** `outcome`: the status, or that of the failure. */
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
  const slots = createConnectionLimiter({ max: options.maxConnections, monotonic, startTimer })
  // not `axios.create`: its defaults, for forms, for browsers and for adapters that are not used here, are merged into every call
  const http = new Axios({ adapter: createUndiciAdapter(dispatcher), baseURL: origin })

  return {
    breakerIsOpen: breaker.isOpen,
    close: () => dispatcher.destroy(),

    async send(request) {
      const startedAt = monotonic()
      let outcome = 'error'
      try {
        const answer = toAnswer(await call(pathOn(origin, request.path), request, startedAt))
        outcome = String(answer.status)
        return answer
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
    const release = await slots.acquire(request.wait ?? soon(timeoutMs))
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

/** How a call waits for a connection unless it says so itself: before those that are not urgent. */
const soon = (timeoutMs: number) => ({
  urgent: true,
  budget: { leftMs: Math.min(timeoutMs, MAX_WAIT_MS) },
})

/** The path and query, normalized. */
function pathOn(origin: string, path: string): string {
  const url = new URL(path, origin)
  if (url.origin !== origin) throw new Error('an upstream path must stay on its origin')
  return url.pathname + url.search
}

/** The one place where a body is serialized. */
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

function toAnswer({ status, headers, data }: AxiosResponse<Buffer>): UpstreamResponse {
  const answered = headers as UpstreamResponse['headers']
  return { status, headers: answered, json: parseJson(answered['content-type'], data), bytes: data }
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i

function parseJson(contentType: string | string[] | undefined, bytes: Buffer): unknown {
  if (typeof contentType !== 'string' || !JSON_TYPE.test(contentType) || bytes.length === 0) return undefined
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined // declared as JSON, but not JSON: treated like any answer without content
  }
}

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
  const broken = circuit(new ConsecutiveBreaker(consecutiveFailures), 'unreachable', 'connection_lost')
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
