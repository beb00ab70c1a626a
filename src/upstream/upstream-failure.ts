import { DependencyFailure } from '../observability/dependency-failure.ts'

/**
 * Why there is no answer from an upstream. It carries no host, path, header or body, so that nothing of them reaches a
 * log or a response through it. Each module translates it into an error of its own.
 */
export class UpstreamFailure extends DependencyFailure {
  override readonly name = 'UpstreamFailure'
  declare readonly outcome: UpstreamOutcome
  /** Set if nothing was sent (`breaker_open`, `pool_exhausted`): how long to stay away. */
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
 * - `unreachable`: no connection was made, so nothing arrived;
 * - `connection_lost`: the connection broke or the answer was not HTTP; the request may have arrived;
 * - `timeout`: no whole answer in time; the request may have arrived;
 * - `response_too_large`: the answer exceeded the size limit;
 * - `breaker_open`: not sent, the upstream has just failed several times in a row;
 * - `pool_exhausted`: not sent, no connection became free in time;
 * - `invalid_response`: there is a whole answer, but not one of the API's: a proxy's page, half an object, a redirect.
 */
export type UpstreamOutcome = keyof typeof MAY_HAVE_ARRIVED

const MAY_HAVE_ARRIVED = {
  unreachable: false,
  connection_lost: true,
  timeout: true,
  response_too_large: true,
  breaker_open: false,
  pool_exhausted: false,
  invalid_response: true,
}

/** Whether what was asked for may have been done although no answer says so; looks at the error and at its cause. */
export function mayHaveReachedUpstream(error: unknown): boolean {
  const failure = error instanceof Error && !(error instanceof UpstreamFailure) ? error.cause : error
  return failure instanceof UpstreamFailure && MAY_HAVE_ARRIVED[failure.outcome]
}
