import { type AxiosAdapter, AxiosHeaders, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios'
import type { Dispatcher } from 'undici'
import { UpstreamFailure, type UpstreamFailureKind } from './upstream-failure.ts'

/**
 * Lets axios send through an undici dispatcher: connection pool, connect time-out, egress proxy and private
 * certificate authorities are undici's; a request costs half of what axios' own adapter takes. Redirects are
 * never followed. The answer's `data` is a Buffer of at most `maxContentLength` bytes.
 */
export function createUndiciAdapter(dispatcher: Dispatcher): AxiosAdapter {
  return async (config) => {
    // not `AbortSignal.timeout`: that one lives on until its time is over, however soon the answer was here
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
      const data = Buffer.from(await answer.body.arrayBuffer()) // bounded by the dispatcher
      return toResponse(config, answer, data)
    } catch (error) {
      throw toFailure(error)
    } finally {
      clearTimeout(timer)
    }
  }
}

function toResponse(
  config: InternalAxiosRequestConfig,
  answer: Dispatcher.ResponseData,
  data: Buffer,
): AxiosResponse<Buffer> {
  return {
    data,
    status: answer.statusCode,
    statusText: '',
    headers: answer.headers as AxiosResponse['headers'],
    config,
  }
}

/** undici and Node name what happened in `code`; everything after the connection counts as "may have arrived". */
const KIND_BY_CODE: Readonly<Record<string, UpstreamFailureKind>> = {
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

function toFailure(error: unknown): UpstreamFailure {
  const code = codeOf(error)
  return new UpstreamFailure(KIND_BY_CODE[code] ?? 'cut', { code })
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
