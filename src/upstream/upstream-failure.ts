import { DependencyFailure } from '../observability/dependency-failure.ts'

/**
 * Why there is no answer from an upstream. It carries no host, path, header or body: what reaches a log or an
 * answer through it tells nothing. Each room translates it into its own error.
 */
export class UpstreamFailure extends DependencyFailure {
  override readonly name = 'UpstreamFailure'
  readonly kind: UpstreamFailureKind
  /** Of an `unusable` answer. */
  readonly status: number | undefined
  /** Set when nothing was sent (`breaker-open`, `busy`): how long to stay away. */
  readonly retryAfterMs: number | undefined

  constructor(
    kind: UpstreamFailureKind,
    details: { code?: string; status?: number; retryAfterMs?: number } = {},
  ) {
    const { code, status } = details
    super(kind, { code, upstreamStatus: status, message: code === undefined ? kind : `${kind} (${code})` })
    this.kind = kind
    this.status = status
    this.retryAfterMs = details.retryAfterMs
  }
}

/**
 * - `unreachable`: no connection was made, so nothing arrived;
 * - `cut`: the connection broke or the answer was not HTTP; the request may have arrived;
 * - `timeout`: no whole answer in time; the request may have arrived;
 * - `too-large`: the answer went over the size cap;
 * - `breaker-open`: not even tried, the upstream has just failed several times in a row;
 * - `busy`: not even tried, no connection became free in time;
 * - `unusable`: there is a whole answer, and it is none of the API's: a proxy's page, half an object, a redirect.
 */
export type UpstreamFailureKind =
  | 'unreachable'
  | 'cut'
  | 'timeout'
  | 'too-large'
  | 'breaker-open'
  | 'busy'
  | 'unusable'

const MAY_HAVE_ARRIVED: ReadonlySet<UpstreamFailureKind> = new Set([
  'cut',
  'timeout',
  'too-large',
  'unusable',
])

/** Whether what was asked for may have been done although nobody said so; looks at the error and at its cause. */
export function mayHaveArrived(error: unknown): boolean {
  const failure = error instanceof Error && !(error instanceof UpstreamFailure) ? error.cause : error
  return failure instanceof UpstreamFailure && MAY_HAVE_ARRIVED.has(failure.kind)
}
