import type { IncomingHttpHeaders } from 'node:http'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { promisify } from 'node:util'
import { unzip } from 'node:zlib'
import { type AxiosAdapter, AxiosHeaders, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios'
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici'
import { noProxyFor } from './no-proxy.ts'
import { startTimer } from './timer.ts'
import { toConnectionFailure } from './upstream-failure.ts'

export interface ConnectionOptions {
  readonly connectTimeoutMs?: number
  readonly totalTimeoutMs: number
  readonly maxResponseBytes?: number
  readonly maxConnections: number
  /** Of https. By default, the public certificate authorities are trusted. */
  readonly secureContext?: SecureContext | undefined
  readonly httpsProxy?: string | undefined
  /** Entries of `NO_PROXY`. */
  readonly noProxy?: readonly string[] | undefined
}

/** A page of a PAM list has hundreds of groups. */
export const MAX_RESPONSE_BYTES = 4_194_304

/**
 * Trusts private certificate authorities (PEM) in addition to the public ones. It takes tens of
 * milliseconds, so it is not done for each connection, nor for each client of the doctor.
 */
export function trusting(ca: readonly string[] | undefined): SecureContext | undefined {
  return ca && createSecureContext({ ca: [...rootCertificates, ...ca] })
}

/**
 * The egress proxy is used for https only: plain http goes only to this host, and its credentials
 * must not leave it.
 */
export function createDispatcher(origin: string, options: ConnectionOptions): Dispatcher {
  const connect = {
    timeout: options.connectTimeoutMs ?? 3000,
    ...(options.secureContext ? { secureContext: options.secureContext } : {}),
  }
  const settings = {
    connections: options.maxConnections,
    connect,
    headersTimeout: 0, // each request has a time limit of its own (`exchange`)
    bodyTimeout: 0,
    maxResponseSize: options.maxResponseBytes ?? MAX_RESPONSE_BYTES,
  }
  if (options.httpsProxy === undefined) return new Agent(settings)
  return new EnvHttpProxyAgent({
    ...settings,
    requestTls: connect,
    proxyTls: connect,
    httpProxy: '',
    httpsProxy: options.httpsProxy,
    noProxy: noProxyFor(options.noProxy ?? [], origin),
  })
}

export interface ReceivedResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * An axios adapter on an undici dispatcher, which provides the connection pool, connect time-out,
 * egress proxy and private certificate authorities. A request takes half the processor time of
 * axios' own adapter. Redirects are never followed. `data` is the whole response, because axios
 * copies headers one by one.
 */
export function createUndiciAdapter(dispatcher: Dispatcher, maxResponseBytes: number): AxiosAdapter {
  return async (config): Promise<AxiosResponse<ReceivedResponse>> => {
    try {
      const received = await exchange(dispatcher, config)
      const { status, headers } = received
      const body = await decompress(received.body, String(headers['content-encoding']), maxResponseBytes)
      return { data: { status, headers, body }, status, statusText: '', headers: NO_HEADERS, config }
    } catch (error) {
      throw toConnectionFailure(error)
    }
  }
}

const NO_HEADERS = new AxiosHeaders()

/** Sends a request and reads its response, with one time limit for both. */
function exchange(
  dispatcher: Dispatcher,
  { baseURL = '', url = '/', method, headers, data, timeout = 0 }: InternalAxiosRequestConfig,
): Promise<ReceivedResponse> {
  const request = {
    origin: baseURL,
    path: url, // not resolved against the origin, so `//host/path` cannot change the host
    method: (method ?? 'get').toUpperCase() as Dispatcher.HttpMethod,
    headers: { ...headers },
    body: data ?? null,
  }
  return new Promise((resolve, reject) => {
    const received = { status: 0, headers: {} }
    const chunks: Buffer[] = []
    let late: Error | undefined
    let sent: Dispatcher.DispatchController | undefined
    const stopTimer = startTimer(() => {
      late = new DOMException('', 'TimeoutError')
      sent?.abort(late)
      reject(late)
    }, timeout)
    dispatcher.dispatch(request, {
      onRequestStart(controller) {
        sent = controller
        if (late !== undefined) controller.abort(late)
      },
      // the last one is not informational
      onResponseStart: (_, status, headers) => Object.assign(received, { status, headers }),
      onResponseData: (_, chunk) => chunks.push(chunk), // the dispatcher limits the size
      onResponseEnd() {
        stopTimer()
        resolve({ ...received, body: Buffer.concat(chunks) })
      },
      onResponseError(_, error) {
        stopTimer()
        reject(error)
      },
    })
  })
}

const ZIPPED = /^(?:x-)?gzip$|^deflate$/i
const unzipped: (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer> = promisify(unzip)

/**
 * A proxy may compress a response although the request allows only `identity`. The limit is that of
 * the result.
 */
async function decompress(bytes: Buffer, encoding: string, maxOutputLength: number): Promise<Buffer> {
  if (bytes.length === 0) return bytes // a 204 may have this header too
  return ZIPPED.test(encoding) ? unzipped(bytes, { maxOutputLength }) : bytes
}
