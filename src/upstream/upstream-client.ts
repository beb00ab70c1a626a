import { rootCertificates } from 'node:tls'
import { Axios } from 'axios'
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici'
import { type BreakerOptions, createBreaker } from './breaker.ts'
import { BUSY_RETRY_MS, createConnectionSlots, type SlotWait } from './connection-slots.ts'
import { startTimer } from './start-timer.ts'
import { createUndiciAdapter } from './undici-adapter.ts'
import { UpstreamFailure } from './upstream-failure.ts'

/** The one way out. Calls go to one origin, end within a bound, follow no redirect and are never sent twice. */
export interface UpstreamClient {
  /** Throws `UpstreamFailure` when there is no whole answer; any status is an answer. */
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
  /** Shorter than the client's own bound, in milliseconds. */
  readonly timeoutMs?: number
  /** The wait for a free connection. Default: urgent, up to `MAX_WAIT_MS`. It counts towards the time-out. */
  readonly wait?: SlotWait
}

export interface UpstreamAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The parsed body; undefined when it is empty, not JSON or not called so. */
  readonly json: unknown
  readonly bytes: Buffer
}

export interface UpstreamClientOptions {
  /** Only its origin counts: each request brings its whole path. */
  readonly baseUrl: string
  readonly connectTimeoutMs: number
  readonly totalTimeoutMs: number
  readonly maxResponseBytes: number
  readonly maxConnections: number
  readonly breaker: BreakerOptions
  /** PEM of private certificate authorities, beside the public ones. */
  readonly ca?: readonly string[] | undefined
  readonly httpsProxy?: string | undefined
  readonly noProxy?: string | undefined
  /** Called after every call, for metrics; `outcome` is the status or the kind of failure. */
  readonly onCall?: (outcome: string, durationMs: number) => void
}

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

    async send({ method, path, headers, body, form, wait, timeoutMs = options.totalTimeoutMs }) {
      const url = new URL(path, origin)
      if (url.origin !== origin) throw new Error('an upstream path must stay on its origin')
      const startedAt = monotonic()
      const report = (outcome: string) => options.onCall?.(outcome, monotonic() - startedAt)
      try {
        const deadline = startedAt + Math.min(timeoutMs, options.totalTimeoutMs)
        const answer = await inSlot(wait ?? waitWithin(timeoutMs), () => {
          const timeout = Math.ceil(deadline - monotonic())
          if (timeout <= 0) throw new UpstreamFailure('busy', { retryAfterMs: BUSY_RETRY_MS })
          return breaker.run(() =>
            http.request<Buffer>({
              method,
              url: url.pathname + url.search,
              headers: {
                ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
                ...headers,
                ...(form === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }),
                'Accept-Encoding': 'identity',
              },
              data: form?.toString() ?? (body === undefined ? undefined : JSON.stringify(body)),
              timeout,
            }),
          )
        })
        report(String(answer.status))
        const answerHeaders = answer.headers as UpstreamAnswer['headers']
        return {
          status: answer.status,
          headers: answerHeaders,
          json: parseJson(answerHeaders['content-type'], answer.data),
          bytes: answer.data,
        }
      } catch (error) {
        report(error instanceof UpstreamFailure ? error.kind : 'error')
        throw error
      }
    },
  }

  async function inSlot<T>(wait: SlotWait, call: () => Promise<T>): Promise<T> {
    const release = await slots.acquire(wait)
    try {
      return await call()
    } finally {
      release()
    }
  }
}

/** The longest wait for a free connection. */
const MAX_WAIT_MS = 2000

const waitWithin = (timeoutMs: number): SlotWait => ({
  urgent: true,
  budget: { leftMs: Math.min(timeoutMs, MAX_WAIT_MS) },
})

const monotonic = () => performance.now()

/** A proxy is for https alone: plain http only ever goes to this very host, and its credentials stay here. */
function createDispatcher(options: UpstreamClientOptions): Dispatcher {
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

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i

function parseJson(contentType: string | string[] | undefined, bytes: Buffer): unknown {
  if (typeof contentType !== 'string' || !JSON_TYPE.test(contentType) || bytes.length === 0) return undefined
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined // called JSON and is not: the caller treats it like any answer that says nothing
  }
}
