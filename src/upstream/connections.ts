import { rootCertificates } from 'node:tls'
import { type AxiosAdapter, AxiosHeaders, type AxiosResponse } from 'axios'
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici'
import type { StartTimer } from './start-timer.ts'
import { UpstreamFailure, type UpstreamOutcome } from './upstream-failure.ts'

export interface ConnectionOptions {
  readonly connectTimeoutMs: number
  readonly totalTimeoutMs: number
  readonly maxResponseBytes: number
  readonly maxConnections: number
  /** PEM of private certificate authorities, besides the public ones. */
  readonly ca?: readonly string[] | undefined
  readonly httpsProxy?: string | undefined
  readonly noProxy?: string | undefined
}

/** A proxy is for https alone: plain http only ever goes to this very host, and its credentials stay here. */
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
 * Lets axios send through an undici dispatcher: connection pool, connect time-out, egress proxy and private
 * certificate authorities are undici's; a request costs half of what axios' own adapter takes. Redirects are
 * never followed. The answer's `data` is a Buffer of at most `maxResponseBytes`.
 */
export function createUndiciAdapter(dispatcher: Dispatcher): AxiosAdapter {
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
      throw new UpstreamFailure(OUTCOMES[code] ?? 'connection_lost', { code })
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
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'response_too_large',
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

/**
 * As many calls at once as there are connections. Further calls wait for a limited time, in a queue of any length: how
 * many can wait depends on how fast the upstream answers.
 */
export interface ConnectionLimiter {
  /** Resolves with the function that releases the slot; throws `UpstreamFailure` `pool_exhausted` if the budget is used up first. */
  acquire(wait: ConnectionWait): Promise<() => void>
}

export interface ConnectionWait {
  /** Gets the next free connection before all calls that are not urgent. */
  readonly urgent: boolean
  /** What this caller may still spend waiting; counted down. */
  readonly budget: { leftMs: number }
}

export interface ConnectionLimiterOptions {
  readonly max: number
  readonly monotonic: () => number
  readonly startTimer: StartTimer
}

export function createConnectionLimiter({
  max,
  monotonic,
  startTimer,
}: ConnectionLimiterOptions): ConnectionLimiter {
  const queues = { urgent: new Set<() => void>(), other: new Set<() => void>() }
  let used = 0

  return {
    async acquire({ urgent, budget }) {
      if (used < max) used += 1
      else await takeOver(urgent ? queues.urgent : queues.other, budget)
      return release
    },
  }

  /** Waits for a slot that a caller releases: it is handed on without becoming free in between. */
  function takeOver(queue: Set<() => void>, budget: { leftMs: number }): Promise<void> {
    if (budget.leftMs <= 0) return Promise.reject(poolExhausted())
    const startedAt = monotonic()
    return new Promise((resolve, reject) => {
      const stopTimer = startTimer(() => {
        queue.delete(take)
        budget.leftMs = 0 // timers can fire up to a millisecond early
        reject(poolExhausted())
      }, budget.leftMs)
      const take = () => {
        stopTimer()
        queue.delete(take)
        budget.leftMs = Math.max(0, budget.leftMs - (monotonic() - startedAt))
        resolve()
      }
      queue.add(take)
    })
  }

  function release(): void {
    const [next] = queues.urgent.size > 0 ? queues.urgent : queues.other
    if (next === undefined) used -= 1
    else next()
  }
}

export function poolExhausted(): UpstreamFailure {
  return new UpstreamFailure('pool_exhausted', { retryAfterMs: 1000 })
}
