/**
 * Why there is no answer from an upstream. It carries no host, path, header or body: what reaches a log or an
 * answer through it tells nothing. Each room translates it into its own error.
 */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure'
  readonly kind: UpstreamFailureKind
  /** undici's or Node's own word, such as `ECONNREFUSED`; undefined when there was none. */
  readonly code: string | undefined
  /** Set when nothing was sent (`breaker-open`, `busy`): how long to stay away. */
  readonly retryAfterMs: number | undefined

  constructor(kind: UpstreamFailureKind, details: { code?: string; retryAfterMs?: number } = {}) {
    super(details.code === undefined ? kind : `${kind} (${details.code})`)
    this.kind = kind
    this.code = details.code
    this.retryAfterMs = details.retryAfterMs
  }
}

/**
 * - `unreachable`: no connection was made, so nothing arrived;
 * - `cut`: the connection broke or the answer was not HTTP; the request may have arrived;
 * - `timeout`: no whole answer in time; the request may have arrived;
 * - `too-large`: the answer went over the size cap;
 * - `breaker-open`: not even tried, the upstream has just failed several times in a row;
 * - `busy`: not even tried, too many calls are under way or waiting already.
 */
export type UpstreamFailureKind = 'unreachable' | 'cut' | 'timeout' | 'too-large' | 'breaker-open' | 'busy'
