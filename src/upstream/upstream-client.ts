import { Axios, type AxiosAdapter, AxiosHeaders, type AxiosResponse } from 'axios'
import type { Dispatcher } from 'undici'
import { type BreakerOptions, createBreaker } from './breaker.ts'
import {
  busy,
  type ConnectionOptions,
  createConnectionSlots,
  createDispatcher,
  type SlotWait,
} from './connections.ts'
import { startTimer } from './start-timer.ts'
import { UpstreamFailure, type UpstreamOutcome } from './upstream-failure.ts'

/** The only way to an upstream. Calls go to one origin, end within a time limit, follow no redirect and are never sent twice. */
export interface UpstreamClient {
  /** Throws `UpstreamFailure` if there is no whole answer; any status is an answer. */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>
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
  readonly wait?: SlotWait
}

export interface UpstreamAnswer {
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
  /** Called after every call, for metrics; `outcome` is the status or that of the failure. */
  readonly onCall?: (outcome: string, durationMs: number) => void
}

/** The longest wait for a free connection. */
const MAX_WAIT_MS = 2000

const monotonic = () => performance.now()

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { origin } = new URL(options.baseUrl)
  const dispatcher = createDispatcher(options)
  const breaker = createBreaker(options.breaker)
  const slots = createConnectionSlots({ max: options.maxConnections, monotonic, startTimer })
  // not `axios.create`: its defaults, for forms, for browsers and for adapters that are not used here, are merged into every call
  const http = new Axios({ adapter: createUndiciAdapter(dispatcher), baseURL: origin })

  return {
    breakerIsOpen: breaker.isOpen,
    close: () => dispatcher.destroy(),

    async send(request) {
      const path = pathOn(origin, request.path)
      const startedAt = monotonic()
      try {
        const answer = toAnswer(await call(path, request, startedAt))
        options.onCall?.(String(answer.status), monotonic() - startedAt)
        return answer
      } catch (error) {
        const outcome = error instanceof UpstreamFailure ? error.outcome : 'error'
        options.onCall?.(outcome, monotonic() - startedAt)
        throw error
      }
    },
  }

  async function call(url: string, request: UpstreamRequest, startedAt: number) {
    const timeoutMs = Math.min(request.timeoutMs ?? options.totalTimeoutMs, options.totalTimeoutMs)
    const budget = { leftMs: Math.min(timeoutMs, MAX_WAIT_MS) }
    const release = await slots.acquire(request.wait ?? { urgent: true, budget })
    try {
      const timeout = Math.ceil(startedAt + timeoutMs - monotonic())
      if (timeout <= 0) throw busy()
      return await breaker.run(() =>
        http.request<Buffer>({ method: request.method, url, timeout, ...contentOf(request) }),
      )
    } finally {
      release()
    }
  }
}

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

function toAnswer({ status, headers, data }: AxiosResponse<Buffer>): UpstreamAnswer {
  const answered = headers as UpstreamAnswer['headers']
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
 * Lets axios send through an undici dispatcher: connection pool, connect time-out, egress proxy and private
 * certificate authorities are undici's; a request costs half of what axios' own adapter takes. Redirects are
 * never followed. The answer's `data` is a Buffer of at most `maxResponseBytes`.
 */
function createUndiciAdapter(dispatcher: Dispatcher): AxiosAdapter {
  return async (config): Promise<AxiosResponse<Buffer>> => {
    // not `AbortSignal.timeout`: it would live on until its time is over, however soon the answer came
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(new DOMException('', 'TimeoutError')), config.timeout ?? 0)
    try {
      const answer = await dispatcher.request({
        origin: config.baseURL ?? '',
        path: config.url ?? '/', // joined to nothing: `//host/path` is a path like any other here
        method: (config.method ?? 'GET').toUpperCase() as Dispatcher.HttpMethod,
        headers: AxiosHeaders.from(config.headers).toJSON() as Record<string, string>,
        body: typeof config.data === 'string' ? config.data : null,
        signal: stop.signal,
      })
      const data = Buffer.from(await answer.body.arrayBuffer()) // the dispatcher limits its size
      const headers = answer.headers as AxiosResponse['headers']
      return { data, status: answer.statusCode, statusText: '', headers, config }
    } catch (error) {
      const code = codeOf(error)
      throw new UpstreamFailure(OUTCOMES[code] ?? 'cut', { code })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** undici and Node say in `code` what happened. After any other one, the request may have arrived. */
const OUTCOMES: Readonly<Record<string, UpstreamOutcome>> = {
  UND_ERR_CONNECT_TIMEOUT: 'unreachable',
  ECONNREFUSED: 'unreachable',
  ENOTFOUND: 'unreachable',
  EAI_AGAIN: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unreachable',
  UNABLE_TO_GET_ISSUER_CERT: 'unreachable',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unreachable',
  SELF_SIGNED_CERT_IN_CHAIN: 'unreachable',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'unreachable',
  CERT_HAS_EXPIRED: 'unreachable',
  CERT_NOT_YET_VALID: 'unreachable',
  ERR_TLS_CERT_ALTNAME_INVALID: 'unreachable',
  UND_ERR_PRX_TLS: 'unreachable',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'too-large',
  TimeoutError: 'timeout',
}

/**
 * The error's code, or that of the first error inside it, or its name; never its message, which names hosts. Looks
 * at properties and not at classes: what Node itself throws may come from another realm.
 */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'unknown'
  if ('code' in error && typeof error.code === 'string') return error.code
  if ('errors' in error && Array.isArray(error.errors) && error.errors.length > 0)
    return codeOf(error.errors[0])
  if ('cause' in error && typeof error.cause === 'object' && error.cause !== null) return codeOf(error.cause)
  return 'name' in error && typeof error.name === 'string' ? error.name : 'unknown'
}
