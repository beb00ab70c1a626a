import type { ErrorBody, ErrorCode } from './answers.ts'

/** The broker or Okta refused a request, or there was no answer. */
export class GatehouseError extends Error {
  override readonly name = 'GatehouseError'
  /**
   * The HTTP status. 0: there was no answer, or the step was not offered (`E0000079`) and nothing
   * was sent.
   */
  readonly status: number
  /** Of the request, such as `/api/v1/authn`. */
  readonly path: string | undefined
  /**
   * Okta's error code, or `pam_…`. `api_not_proxied`: a page came instead of an answer of the
   * broker. Undefined without an answer.
   */
  readonly code: ErrorCode | 'api_not_proxied' | undefined
  /** Each may begin with the name of a field, such as `oldPassword: …`. */
  readonly causes: readonly string[]
  /** The seconds to wait before the next try. */
  readonly retryAfterSeconds: number | undefined
  /** Show it in small type: operators find the log line by it. */
  readonly requestId: string | undefined

  constructor(
    response: Response | undefined,
    body: Omit<Partial<ErrorBody>, 'errorCode'> & { readonly errorCode?: GatehouseError['code'] } = {},
    { path, cause }: { readonly path?: string; readonly cause?: unknown } = {},
  ) {
    super(body.errorSummary ?? 'The sign-in service did not answer.', { cause })
    this.status = response?.status ?? 0
    this.path = path
    this.code = body.errorCode
    const { errorCauses } = body
    this.causes = Array.isArray(errorCauses) ? errorCauses.map(({ errorSummary }) => errorSummary) : []
    this.retryAfterSeconds = response && secondsToWait(response)
    this.requestId = response?.headers.get('x-request-id') ?? body.errorId
  }
}

/** The answer has no link for this move: nothing is sent. */
export function notOffered(): GatehouseError {
  const errorSummary = 'The sign-in does not offer this step.'
  return new GatehouseError(undefined, { errorCode: 'E0000079', errorSummary })
}

/**
 * `Retry-After`, in seconds or as a date. Okta's own 429 has none: then the time until
 * `X-Rate-Limit-Reset`.
 */
function secondsToWait({ headers, status }: Response): number | undefined {
  const nowMs = Date.parse(headers.get('date') ?? '') || Date.now()
  const until = (ms: number) => Math.ceil((ms - nowMs) / 1000)
  const retryAfter = headers.get('retry-after') ?? ''
  const seconds = Number(retryAfter) || until(Date.parse(retryAfter))
  if (seconds > 0) return seconds
  if (status !== 429) return undefined
  const untilReset = until(Number(headers.get('x-rate-limit-reset')) * 1000)
  return untilReset > 0 ? untilReset : 30
}
