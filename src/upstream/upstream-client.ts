import { setTimeout as delay } from 'node:timers/promises'
import { Axios, type AxiosResponse } from 'axios'
import type { Dispatcher } from 'undici'
import {
  type Breaker,
  type BreakerOptions,
  type ConnectionLimiterOptions,
  type ConnectionOptions,
  type ConnectionWait,
  createBreaker,
  createConnectionLimiter,
  createDispatcher,
  createUndiciAdapter,
} from './connections.ts'
import { startTimer } from './start-timer.ts'
import { poolExhausted, UpstreamFailure } from './upstream-failure.ts'

/**
 * Sends calls to one origin, with a time limit. It never follows redirects. It sends a call again only if Okta refused it
 * because too many calls of the org run at once: such a call had no effect. That refusal is never returned.
 */
export interface UpstreamClient {
  /** Resolves for every status; throws `UpstreamFailure` if there is no complete response. */
  send(request: UpstreamRequest): Promise<UpstreamResponse>
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
  /** The wait for a free connection, which is part of the time limit. Default: urgent, up to `MAX_WAIT_SHARE`. */
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
  readonly onConcurrencyChange?: ConnectionLimiterOptions['onChange']
  /** The label in metrics. */
  readonly name: 'authn' | 'pam' | 'doctor'
  readonly metrics: { readonly upstreamRequestDuration: CallMetric }
}

/** `outcome` is the status, or the outcome of the failure. */
export interface CallMetric {
  observe(labels: { readonly upstream: string; readonly outcome: string }, seconds: number): void
}

/** The longest wait for a free connection, pauses before another attempt included, as a share of the total time. */
const MAX_WAIT_SHARE = 0.5
/** The pause before a refused call is sent again. Doubles with each attempt; up to half of it is random. */
const RETRY_PAUSE_MS = 100
const MAX_RETRY_PAUSE_MS = 1000

const monotonic = () => performance.now()

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const dispatcher = createDispatcher(options)
  const breaker = createBreaker(options.breaker)
  const attempt = createAttempt(options, dispatcher, breaker)

  return {
    close: () => dispatcher.destroy(),

    async send(request) {
      const timeoutMs = Math.min(request.timeoutMs ?? options.totalTimeoutMs, options.totalTimeoutMs)
      const deadline = monotonic() + timeoutMs
      const defaultMs = Math.min(timeoutMs, options.totalTimeoutMs * MAX_WAIT_SHARE)
      const wait = request.wait ?? { urgent: true, budget: { leftMs: defaultMs } }
      for (let pauseMs = RETRY_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_RETRY_PAUSE_MS)) {
        const response = await measured(options, () => attempt(request, wait, deadline))
        if (!isConcurrencyRefusal(response)) return response
        await pause(pauseMs * (1 - Math.random() / 2), wait)
      }
    },
  }
}

/** Waits for a free connection, and sends the request once. `deadline` is on the monotonic clock. */
function createAttempt(options: UpstreamClientOptions, dispatcher: Dispatcher, breaker: Breaker) {
  const { origin } = new URL(options.baseUrl)
  // not `axios.create`: its defaults, which are not needed here, would be merged into every call
  const http = new Axios({ adapter: createUndiciAdapter(dispatcher), baseURL: origin })
  const connections = createConnectionLimiter({
    max: options.maxConnections,
    monotonic,
    startTimer,
    onChange: options.onConcurrencyChange,
  })

  return async (request: UpstreamRequest, wait: ConnectionWait, deadline: number) => {
    const url = pathOn(origin, request.path)
    const release = await connections.acquire(wait)
    let result: 'answered' | 'refused' | undefined
    try {
      const timeout = Math.ceil(deadline - monotonic())
      if (timeout <= 0) throw poolExhausted()
      const config = { method: request.method, url, timeout, ...contentOf(request) }
      const response = toUpstreamResponse(await breaker.run(() => http.request<Buffer>(config)))
      result = isConcurrencyRefusal(response) ? 'refused' : 'answered'
      return response
    } finally {
      release(result)
    }
  }
}

/** Measures an attempt, by its status or the outcome of its failure. */
async function measured(
  { name, metrics }: UpstreamClientOptions,
  attempt: () => Promise<UpstreamResponse>,
): Promise<UpstreamResponse> {
  const startedAt = monotonic()
  let outcome = 'error'
  try {
    const response = await attempt()
    outcome = String(response.status)
    return response
  } catch (error) {
    if (error instanceof UpstreamFailure) outcome = error.outcome
    throw error
  } finally {
    const seconds = (monotonic() - startedAt) / 1000
    metrics.upstreamRequestDuration.observe({ upstream: name, outcome }, seconds)
  }
}

/**
 * Whether Okta refused the call because too many calls of the org run at once. Then, and only then, the limit and the
 * remaining number are 0, and the reset is an estimate (https://developer.okta.com/docs/reference/rl2-monitor/).
 */
function isConcurrencyRefusal({ status, headers }: UpstreamResponse): boolean {
  return status === 429 && headers['x-rate-limit-limit'] === '0' && headers['x-rate-limit-remaining'] === '0'
}

async function pause(ms: number, { budget }: ConnectionWait): Promise<void> {
  if (ms >= budget.leftMs) throw poolExhausted()
  await delay(ms)
  budget.leftMs -= ms
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
 * The API's clock, advanced by the monotonic clock of this process. The API's times (token expiry, rate limits) and times that
 * replicas compare are read on it, so no system clock of the broker has to be right.
 */
export interface UpstreamClock {
  /** Milliseconds since 1970; the system clock until the first response. */
  now(): number
  /** Whether there has been a response. */
  isSet(): boolean
  observe(response: Pick<UpstreamResponse, 'headers'>): void
}

/** `Date` has whole seconds, so estimates differ by less than this. A larger difference means that a clock was set. */
export const CLOCK_TOLERANCE_MS = 2000

export function createUpstreamClock(options: { now: () => number; monotonic: () => number }): UpstreamClock {
  const { now, monotonic } = options
  let offsetMs: number | undefined

  return {
    now: () => (offsetMs === undefined ? now() : monotonic() + offsetMs),
    isSet: () => offsetMs !== undefined,
    observe({ headers }) {
      const dateMs = typeof headers.date === 'string' ? Date.parse(headers.date) : Number.NaN
      if (Number.isNaN(dateMs)) {
        offsetMs ??= now() - monotonic() // without `Date`, the system clock is used
        return
      }
      const seen = dateMs - monotonic()
      // `Date` is rounded down to seconds, so the latest of the estimates that agree is the most accurate
      const agrees = offsetMs !== undefined && Math.abs(seen - offsetMs) <= CLOCK_TOLERANCE_MS
      offsetMs = agrees ? Math.max(seen, offsetMs ?? seen) : seen
    },
  }
}
