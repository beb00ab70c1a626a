import { DependencyFailure } from '../observability/dependency-failure.ts'

/**
 * The reason why a call has no usable response. It contains no host, path, header or body, so that none of them reaches a log or a
 * response. Each module translates it into its own error.
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
 * - `connection_lost`: the connection broke or the response was not HTTP; the request may have arrived;
 * - `timeout`: the response was not complete in time; the request may have arrived;
 * - `response_too_large`: the response exceeded the size limit;
 * - `breaker_open`: not sent, because the upstream has failed several times in a row;
 * - `pool_exhausted`: not processed, because no connection became free in time, or Okta refused too many calls at once;
 * - `invalid_response`: the response is not one of the API: a proxy's page, truncated JSON, a redirect.
 */
export type UpstreamOutcome = keyof typeof REACHED_UPSTREAM

const REACHED_UPSTREAM = {
  unreachable: false,
  connection_lost: true,
  timeout: true,
  response_too_large: true,
  breaker_open: false,
  pool_exhausted: false,
  invalid_response: true,
}

/** Whether the upstream may have processed the failed request. Checks the error and its cause. */
export function mayHaveReachedUpstream(error: unknown): boolean {
  const failure = error instanceof Error && !(error instanceof UpstreamFailure) ? error.cause : error
  return failure instanceof UpstreamFailure && REACHED_UPSTREAM[failure.outcome]
}
