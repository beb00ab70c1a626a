import { Axios } from 'axios'
import type { Metrics } from '../observability/metrics.ts'
import type { Tracing } from '../observability/tracing.ts'
import { type BreakerOptions, createBreaker } from './breaker.ts'
import {
  type ConnectionOptions,
  createDispatcher,
  createUndiciAdapter,
  MAX_RESPONSE_BYTES,
  type ReceivedResponse,
} from './connection-pool.ts'
import { UpstreamFailure } from './upstream-failure.ts'

/**
 * Sends calls to one origin, with a time limit. It never follows redirects, and sends no call
 * again.
 */
export interface HttpApi {
  /** Resolves for every status; throws `UpstreamFailure` if there is no complete response. */
  send(request: UpstreamRequest): Promise<UpstreamResponse>
  close(): Promise<void>
}

export interface UpstreamRequest {
  /** `DELETE` and `OPTIONS` only of the doctor. */
  readonly method: 'GET' | 'POST' | 'DELETE' | 'OPTIONS'
  /** Starts with `/`; may contain a query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as a form instead of `body`. */
  readonly form?: URLSearchParams
  /** In milliseconds. The limit of all calls applies too. */
  readonly timeoutMs?: number
}

export interface UpstreamResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The parsed body; undefined if it is empty, not JSON or not declared as JSON. */
  readonly json: unknown
  readonly bytes: Buffer
}

export interface HttpApiOptions extends ConnectionOptions {
  /** Only its origin is used. */
  readonly baseUrl: string
  readonly breaker?: BreakerOptions
  /** The label in metrics. */
  readonly name: 'authn' | 'pam' | 'doctor'
  readonly metrics?: Pick<Metrics, 'upstreamRequestDuration' | 'upstreamResponses'> | undefined
  readonly tracing?: Tracing | undefined
}

const monotonic = () => performance.now()

export function createHttpApi(options: HttpApiOptions) {
  const { origin } = new URL(options.baseUrl)
  const dispatcher = createDispatcher(origin, options)
  const breaker = createBreaker(options.breaker)
  // not `axios.create`: its defaults, which are not needed here, would be merged into every call
  const http = new Axios({
    adapter: createUndiciAdapter(dispatcher, options.maxResponseBytes ?? MAX_RESPONSE_BYTES),
    baseURL: origin,
  })

  let seen: { readonly date: string; readonly atMs: number } | undefined

  return {
    close: () => dispatcher.destroy(),

    /** The API's time by its last `Date`, in milliseconds since 1970. */
    time(): number | undefined {
      const timeMs = seen === undefined ? Number.NaN : Date.parse(seen.date) + monotonic() - seen.atMs
      return Number.isNaN(timeMs) ? undefined : timeMs
    },

    async send(request: UpstreamRequest) {
      const url = pathOn(origin, request.path)
      const timeout = Math.min(request.timeoutMs ?? options.totalTimeoutMs, options.totalTimeoutMs)
      const config = { method: request.method, url, timeout, ...contentOf(request) }
      return measured(options, request, async () => {
        const { data } = await breaker.run(() => http.request<ReceivedResponse>(config))
        const { date } = data.headers
        if (typeof date === 'string') seen = { date, atMs: monotonic() }
        return toUpstreamResponse(data)
      })
    },
  } satisfies HttpApi & { time(): number | undefined }
}

/** Measures and traces a call, by its status or the outcome of its failure. */
async function measured(
  { name, baseUrl, metrics, tracing }: HttpApiOptions,
  { method }: UpstreamRequest,
  call: () => Promise<UpstreamResponse>,
): Promise<UpstreamResponse> {
  const startedAt = monotonic()
  const endSpan = tracing?.beginCall(name, method, baseUrl)
  let outcome = 'error'
  try {
    const response = await call()
    outcome = String(response.status)
    metrics?.upstreamResponses.inc({ upstream: name, status: outcome })
    return response
  } catch (error) {
    if (error instanceof UpstreamFailure) outcome = error.outcome
    throw error
  } finally {
    const seconds = (monotonic() - startedAt) / 1000
    metrics?.upstreamRequestDuration.observe({ upstream: name, outcome }, seconds)
    endSpan?.(outcome)
  }
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

function toUpstreamResponse({ status, headers, body }: ReceivedResponse): UpstreamResponse {
  return { status, headers, json: parseJson(headers['content-type'], body), bytes: body }
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

/** The fields of a JSON object; none if it is another value. */
export function fieldsOf(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null ? { ...json } : {}
}
