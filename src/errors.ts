/**
 * Every error that Gatehouse itself answers with (DESIGN §2): a status, a stable code, a sentence for users, causes that
 * name what is wrong, and a `cause` that is logged and never sent.
 */
export class BrokerError extends Error {
  override readonly name = 'BrokerError'
  readonly status: number
  readonly code: string
  readonly causes: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** The dependency that failed, if any; for the log. */
  readonly dependency: Dependency | undefined
  /** Why the broker answers 503 although no dependency failed; the log event. */
  readonly busy: Busy | undefined

  constructor(status: number, code: string, summary: string, details: ErrorDetails = {}) {
    super(summary, { cause: details.cause })
    this.status = status
    this.code = code
    this.causes = details.causes ?? []
    this.headers = details.headers ?? {}
    this.dependency = details.dependency
    this.busy = details.busy
  }
}

/** Okta's Authentication API, the PAM API, Redis. */
export type Dependency = 'authn' | 'pam' | 'store'

export type Busy = 'overloaded' | 'step_in_progress'

export interface ErrorDetails {
  /** Sentences for the caller, each naming what is wrong. */
  readonly causes?: readonly string[]
  /** Response headers that belong to the error, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** What really happened; for the log only. */
  readonly cause?: unknown
  readonly dependency?: Dependency
  readonly busy?: Busy
}

/** The body of every error response, in the sign-in API's own shape. `errorLink` repeats the code. */
export function toErrorObject(error: BrokerError, errorId: string) {
  return {
    errorCode: error.code,
    errorSummary: error.message,
    errorLink: error.code,
    errorId,
    errorCauses: error.causes.map((errorSummary) => ({ errorSummary })),
  }
}

export type ErrorObject = ReturnType<typeof toErrorObject>

// 400: the request is wrong

/** The cause begins with the name of what is wrong. */
const invalid = (status: number, causes: readonly string[], cause?: unknown) =>
  new BrokerError(status, 'E0000001', `Api validation failed: ${causes[0]?.split(':', 1)[0] ?? 'request'}`, {
    causes,
    cause,
  })

/** A field is missing, of the wrong type, too long. Each cause begins with the field's name. */
export const invalidField = (...causes: string[]) => invalid(400, causes)

export const bodyTooLarge = (limitBytes: number) => invalid(413, [`body: larger than ${limitBytes} bytes`])

export const malformedRequest = (cause?: unknown) => invalid(400, ['request: malformed'], cause)

/** 414: the URL, 431: the headers. */
export const tooLong = (what: 'url' | 'headers', status: 414 | 431) => invalid(status, [`${what}: too long`])

/** The request did not arrive in time. */
export const requestTooSlow = () => invalid(408, ['request: not complete in time'])

/** An `Expect` header with anything but `100-continue`. */
export const unmetExpectation = () =>
  new BrokerError(417, 'E0000001', 'Api validation failed: request', {
    causes: ['Expect: only 100-continue is understood'],
  })

export const notJson = (cause?: unknown) =>
  new BrokerError(400, 'E0000003', 'The request body was not well-formed.', {
    causes: ['body: not a JSON object'],
    cause,
  })

export const wrongContentType = (expected = 'application/json') =>
  new BrokerError(
    415,
    'E0000021',
    'Bad request. Accept and/or Content-Type headers likely do not match supported values.',
    { causes: [`Content-Type: must be ${expected} in UTF-8`] },
  )

// 401, 403: not signed in, or not allowed

export const noSession = () => new BrokerError(401, 'E0000005', 'Invalid session')

/** An unknown or expired handle, or one of another browser. The cause says if the device cookie did not come back. */
export const unknownHandle = (deviceCookieReturned = true) =>
  new BrokerError(401, 'E0000011', 'Invalid token provided', {
    causes: deviceCookieReturned ? [] : ['device cookie not returned'],
  })

/** A call to the admin routes without the right `Authorization`. */
export const wrongOpsToken = () =>
  new BrokerError(401, 'E0000011', 'Invalid token provided', {
    causes: ['Authorization: must be Bearer and the OPS_TOKEN'],
    headers: { 'WWW-Authenticate': 'Bearer realm="gatehouse"' },
  })

export const notAllowed = (...causes: string[]) =>
  new BrokerError(403, 'E0000006', 'You do not have permission to perform the requested action', { causes })

/** The sign-in is of another user than the session that is open in this browser. */
export const otherUsersSession = (field: 'stateToken' | 'token' | 'recoveryToken') =>
  notAllowed(`${field}: this sign-in is of another user than the open session; sign out first`)

/** The upstream never offered this step in this transaction. */
export const stepNotOffered = () =>
  new BrokerError(403, 'E0000079', 'This operation is not allowed in the current authentication state.')

/** The same words as the upstream's own for a wrong code or answer. */
export const wrongCode = () =>
  new BrokerError(403, 'E0000068', 'Invalid Passcode/Answer', {
    causes: ["Your token doesn't match our records. Please try again."],
  })

/** Too many wrong codes in this transaction. */
export const codesExhausted = () =>
  new BrokerError(403, 'E0000069', 'User Locked', {
    causes: ['Maximum number of verification attempts exceeded.'],
  })

// 404, 405, 409

export const notFound = (what: string) =>
  new BrokerError(404, 'E0000007', `Not found: Resource not found: ${what}`)

export const wrongMethod = (allow: string) =>
  new BrokerError(405, 'E0000022', 'The endpoint does not support the provided HTTP method', {
    headers: { Allow: allow },
  })

/** The page names a session that another tab has replaced by now (`X-Gatehouse-Session`). */
export const otherSession = () =>
  new BrokerError(409, 'E0000006', 'The session of this browser has changed', {
    causes: ['X-Gatehouse-Session: another session is open in this browser by now'],
  })

// 429

const retryAfter = (seconds: number) => ({ 'Retry-After': String(seconds) })

export const rateLimited = (limit: { limit: number; resetAtSeconds: number; retryAfterSeconds: number }) =>
  new BrokerError(429, 'E0000047', 'API call exceeded rate limit due to too many requests.', {
    headers: {
      ...retryAfter(limit.retryAfterSeconds),
      'X-Rate-Limit-Limit': String(limit.limit),
      'X-Rate-Limit-Remaining': '0',
      'X-Rate-Limit-Reset': String(limit.resetAtSeconds),
    },
  })

/** A code was sent a moment ago; by text message and by call the codes differ (field notes). */
export const sentRecently = (factorType: 'SMS' | 'CALL', retryAfterSeconds: number) => {
  const [code, summary] = SENT_RECENTLY[factorType]
  return new BrokerError(429, code, summary, { headers: retryAfter(retryAfterSeconds) })
}

const SENT_RECENTLY = {
  SMS: ['E0000109', 'An SMS message was recently sent. Please wait 30 seconds before trying again.'],
  CALL: ['E0000133', 'A voice call was recently made. Please wait 30 seconds before trying again.'],
} as const

// 5xx: the broker, the store, the upstream. Never a host name, never a stack.

export const internalError = (cause?: unknown) =>
  new BrokerError(500, 'E0000009', 'Internal Server Error', { cause })

const unavailable = (retryAfterSeconds: number, cause: unknown, details: ErrorDetails) =>
  new BrokerError(503, 'E0000009', 'The service is temporarily unavailable', {
    headers: retryAfter(retryAfterSeconds),
    cause,
    ...details,
  })

/** Redis is unreachable or too slow: never an answer about the session itself. */
export const storeUnavailable = (cause?: unknown) => unavailable(2, cause, { dependency: 'store' })

/** The broker takes on nothing now: too much is under way. */
export const temporarilyUnavailable = (retryAfterSeconds: number, cause?: unknown) =>
  unavailable(retryAfterSeconds, cause, { busy: 'overloaded' })

/** The sign-in API is not called now: its breaker is open, all connections are taken, or the API token is refused. */
export const upstreamTemporarilyUnavailable = (retryAfterSeconds: number, cause?: unknown) =>
  unavailable(retryAfterSeconds, cause, { dependency: 'authn' })

/** The upstream could not be reached, cut the connection or sent something that is no response of the API. */
export const upstreamUnavailable = (cause?: unknown) =>
  upstreamFailed(502, 'The sign-in service did not answer as expected', cause)

export const upstreamTimeout = (cause?: unknown) =>
  upstreamFailed(504, 'The sign-in service did not answer in time', cause)

const upstreamFailed = (status: 502 | 504, summary: string, cause: unknown) =>
  new BrokerError(status, 'E0000009', summary, { cause, dependency: 'authn' })

/** Another step of the same transaction took longer than this one may wait for it. */
export const stepInProgress = () =>
  new BrokerError(503, 'E0000009', 'Another step of this sign-in is still in progress', {
    headers: retryAfter(1),
    busy: 'step_in_progress',
  })

/** An error of PAM, by the codes of DESIGN §6; never the SPA's 401. */
export const pamError = (
  status: 404 | 502 | 503 | 504,
  code: `pam_${string}`,
  { retryAfterSeconds, cause }: { retryAfterSeconds?: number | undefined; cause?: unknown } = {},
) =>
  new BrokerError(status, code, PAM_SUMMARY[code] ?? 'The access service is not available', {
    headers: retryAfterSeconds === undefined ? {} : retryAfter(retryAfterSeconds),
    cause,
    dependency: 'pam',
  })

const PAM_SUMMARY: Readonly<Record<string, string>> = {
  pam_bad_request: 'The access service refused the request',
  pam_credentials: 'The access service did not accept our credentials',
  pam_not_permitted: 'The access service does not permit this lookup',
  pam_unexpected: 'The access service answered unexpectedly',
  pam_quota: 'The team has exceeded its allotment at the access service',
  pam_team_disabled: 'The team is disabled at the access service',
  pam_user_unknown: 'This person is not known to the access service',
  pam_misconfigured: 'The access service is not configured correctly',
  pam_deprecated: 'The access service no longer offers this resource',
  pam_rate_limited: 'The access service limits our requests for now',
  pam_unavailable: 'The access service is not available',
  pam_timeout: 'The access service did not answer in time',
}
