import { DependencyFailure } from '../observability/dependency-failure.ts'

/**
 * The reason why a call has no usable response. It contains no host, path, header or body, so that
 * none of them reaches a log or a response. Each module translates it into its own error.
 */
export class UpstreamFailure extends DependencyFailure {
  override readonly name = 'UpstreamFailure'
  declare readonly outcome: UpstreamOutcome
  /** For `breaker_open` and `pool_exhausted`: when to retry. */
  readonly retryAfterMs: number | undefined

  constructor(
    outcome: UpstreamOutcome,
    details: { code?: string; upstreamStatus?: number; retryAfterMs?: number } = {},
  ) {
    super(outcome, details)
    this.retryAfterMs = details.retryAfterMs
  }
}

/**
 * - `unreachable`: no connection was made, so the request did not arrive;
 * - `proxy_refused`: the egress proxy did not open a tunnel, so the request did not arrive; the
 *   code is its status, such as `PROXY_407`;
 * - `connection_lost`: the connection broke or the response was not HTTP; the request may have
 *   arrived;
 * - `timeout`: the response was not complete in time; the request may have arrived;
 * - `response_too_large`: the response exceeded the size limit;
 * - `breaker_open`: not sent, because the upstream has failed several times in a row;
 * - `pool_exhausted`: not sent, because too many calls were in flight for too long;
 * - `address_blocked`: the upstream refused the client's address, or the broker's, and did nothing;
 * - `invalid_response`: the response is not one of the API: a proxy's page, truncated JSON, a
 *   redirect.
 */
export type UpstreamOutcome = keyof typeof REACHED_UPSTREAM

const REACHED_UPSTREAM = {
  unreachable: false,
  proxy_refused: false,
  connection_lost: true,
  timeout: true,
  response_too_large: true,
  breaker_open: false,
  pool_exhausted: false,
  address_blocked: false,
  invalid_response: true,
}

/** Whether the upstream may have processed the failed request. Checks the error and its cause. */
export function mayHaveReachedUpstream(error: unknown): boolean {
  const failure = error instanceof Error && !(error instanceof UpstreamFailure) ? error.cause : error
  return failure instanceof UpstreamFailure && REACHED_UPSTREAM[failure.outcome]
}

/** The failure of a call without a complete response. */
export function toConnectionFailure(error: unknown): UpstreamFailure {
  const proxyStatus = refusalOfProxy(error)
  if (proxyStatus !== undefined) return new UpstreamFailure('proxy_refused', { code: `PROXY_${proxyStatus}` })
  const code = errorCode(error)
  const outcome = OUTCOMES.find(([codes]) => codes.test(code))?.[1] ?? 'connection_lost'
  return new UpstreamFailure(outcome, { code })
}

/** undici states the status of a refused CONNECT only in the message of its error. */
function refusalOfProxy(error: unknown): string | undefined {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : ''
  return /^Proxy response \((\d{3})\) !== 200/.exec(String(message))?.[1]
}

/** Error codes of undici and Node. After any other code, the request may have arrived. */
const OUTCOMES: readonly (readonly [RegExp, UpstreamOutcome])[] = [
  [/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'unreachable'],
  [/^UND_ERR_(CONNECT_TIMEOUT|PRX_TLS)$/, 'unreachable'],
  [/^UNABLE_TO_|CERT(_|$)/, 'unreachable'], // the certificate is not accepted
  [/^UND_ERR_(HEADERS|BODY)_TIMEOUT$|^TimeoutError$/, 'timeout'],
  [/^UND_ERR_RES_EXCEEDED_MAX_SIZE$|^ERR_BUFFER_TOO_LARGE$/, 'response_too_large'],
]

/**
 * The code of the error or of the first error in it, else its name. Never its message, which
 * contains host names. `instanceof` is not used, because errors of Node may come from another
 * realm.
 */
function errorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'unknown'
  if ('code' in error && typeof error.code === 'string') return error.code
  if ('errors' in error && Array.isArray(error.errors) && error.errors.length > 0)
    return errorCode(error.errors[0])
  if ('cause' in error && typeof error.cause === 'object' && error.cause !== null)
    return errorCode(error.cause)
  return 'name' in error && typeof error.name === 'string' ? error.name : 'unknown'
}
