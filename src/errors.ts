/**
 * An error that Gatehouse sends: a status, a stable code, a summary for users, causes that name the
 * wrong field or setting, and a `cause` that is logged and never sent. What its code means:
 * okta-errors.ts, and `ERROR_CODES` in openapi/error-object.ts.
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
  /** Any client can cause this 5xx: it is no server error in metrics, or it would fire alerts. */
  readonly isOfClient: boolean

  constructor(status: number, code: string, summary: string, details: ErrorDetails = {}) {
    super(summary, { cause: details.cause })
    this.status = status
    this.code = code
    this.causes = details.causes ?? []
    this.headers = details.headers ?? {}
    this.dependency = details.dependency
    this.busy = details.busy
    this.isOfClient = details.isOfClient ?? false
  }
}

/** Okta's Authentication API, the PAM API, Redis. */
export type Dependency = 'authn' | 'pam' | 'store'

export type Busy = 'overloaded' | 'step_in_progress'

export interface ErrorDetails {
  /** For the client; each names the wrong field, header or setting. */
  readonly causes?: readonly string[]
  /** Response headers of the error, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** For the log only. */
  readonly cause?: unknown
  readonly dependency?: Dependency
  readonly busy?: Busy
  readonly isOfClient?: boolean
}

/**
 * The body of every error response, in the shape of Okta's errors. `errorLink` repeats the code.
 */
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

// 400: the request is invalid

/** Each cause starts with the name of the field or header. */
const invalid = (status: number, causes: readonly string[], cause?: unknown) =>
  new BrokerError(status, 'E0000001', `Api validation failed: ${causes[0]?.split(':', 1)[0] ?? 'request'}`, {
    causes,
    cause,
  })

export const invalidField = (...causes: string[]) => invalid(400, causes)

export const bodyTooLarge = (limitBytes: number) => invalid(413, [`body: larger than ${limitBytes} bytes`])

export const malformedRequest = (cause?: unknown) => invalid(400, ['request: malformed'], cause)

export const headersTooLong = () => invalid(431, ['headers: too long'])

export const requestTooSlow = () => invalid(408, ['request: not complete in time'])

/** An `Expect` header other than `100-continue`. */
export const unmetExpectation = () => invalid(417, ['Expect: only 100-continue is supported'])

export const notJson = () =>
  new BrokerError(400, 'E0000003', 'The request body was not well-formed.', {
    causes: ['body: not a JSON object'],
  })

export const wrongContentType = (expected: string) =>
  new BrokerError(
    415,
    'E0000021',
    'Bad request. Accept and/or Content-Type headers likely do not match supported values.',
    { causes: [`Content-Type: must be ${expected} in UTF-8`] },
  )

// 401, 403: not signed in or not allowed

export const noSession = () => new BrokerError(401, 'E0000005', 'Invalid session')

/** The user must sign in again within the session. */
export const signInAgain = (minutes: number) =>
  new BrokerError(403, 'sign_in_again', 'Sign in again to continue', {
    causes: [`authenticatedAt: the last sign-in must not be older than ${minutes} minutes`],
  })

/** An application sends a browser with a session back to the sign-in again and again. */
export const applicationRefuses = (cause: string) =>
  new BrokerError(403, 'E0000006', 'The application does not accept your sign-in', { causes: [cause] })

/** A rule of `/forward-auth`. Its responses have no body. */
export const ruleNotMet = (status: 401 | 403, headers: BrokerError['headers']) =>
  new BrokerError(status, status === 401 ? 'E0000005' : 'E0000006', 'A rule is not met', { headers })

const invalidToken = (causes: readonly string[], headers = {}) =>
  new BrokerError(401, 'E0000011', 'Invalid token provided', { causes, headers })

/**
 * An unknown or expired handle, or one of another browser. The cause says if the device cookie is
 * missing.
 */
export const unknownHandle = (deviceCookieReturned = true) =>
  invalidToken(deviceCookieReturned ? [] : ['device cookie not returned'])

/** A code of a hand-over that is unknown or used, or of another browser or host. */
export const handOverRefused = (cause: string) => invalidToken([cause])

const BEARER = { 'WWW-Authenticate': 'Bearer realm="gatehouse"' }
export const wrongBearerToken = (expected: 'the OPS_TOKEN or one of OPS_TOKENS' | 'one of APP_TOKENS') =>
  invalidToken([`Authorization: must be Bearer and ${expected}`], BEARER)

export const wrongHookSecret = () => invalidToken(['Authorization: must be one of EVENT_HOOK_SECRET'])

/** The proof of a bound session's key. `headers`: with a new challenge for the browser. */
export const proofRefused = (cause: string, headers: BrokerError['headers'] = {}) =>
  new BrokerError(403, 'E0000006', 'You do not have permission to perform the requested action', {
    causes: [`Secure-Session-Response: ${cause}`],
    headers,
  })

export const notAllowed = (...causes: string[]) =>
  new BrokerError(403, 'E0000006', 'You do not have permission to perform the requested action', { causes })

/**
 * The org refuses the client's address, or that of the broker, before it looks at anything else
 * (docs/operations.md). The client recognizes it by the cause.
 */
export const addressBlocked = (cause?: unknown) =>
  new BrokerError(403, 'E0000006', 'You do not have permission to perform the requested action', {
    causes: ['address: the org refuses requests from this address'],
    cause,
  })

/** `RECOVERY` does not let this browser start a recovery, whoever is named. */
export const recoveryNotAvailable = () =>
  notAllowed('recovery: cannot be started from this browser at present')

/** The user of the sign-in is not the user of the browser's session. */
export const otherUsersSession = (field: 'stateToken' | 'token' | 'recoveryToken') =>
  notAllowed(`${field}: this sign-in belongs to a different user from the one signed in; sign out first`)

/** Okta has not offered this step in this transaction. */
export const stepNotOffered = () =>
  new BrokerError(403, 'E0000079', 'This operation is not allowed in the current authentication state.')

/** The same text as Okta's error for a wrong code or answer. */
export const wrongCode = () =>
  new BrokerError(403, 'E0000068', 'Invalid Passcode/Answer', {
    causes: ["Your token doesn't match our records. Please try again."],
  })

export const tooManyWrongCodes = () =>
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

/**
 * The session that the page names in `X-Gatehouse-Session` has been replaced, for example by
 * another tab.
 */
export const sessionChanged = () =>
  new BrokerError(409, 'E0000006', 'The session of this browser has changed', {
    causes: ['X-Gatehouse-Session: another session is now open in this browser'],
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

/** The error codes for text messages and calls differ (docs/conformance.md F-1.25). */
export const sentRecently = (factorType: 'SMS' | 'CALL', retryAfterSeconds: number) => {
  const [code, summary] = SENT_RECENTLY[factorType]
  return new BrokerError(429, code, summary, { headers: retryAfter(retryAfterSeconds) })
}

const SENT_RECENTLY = {
  SMS: ['E0000109', 'An SMS message was recently sent. Please wait 30 seconds before trying again.'],
  CALL: ['E0000133', 'A voice call was recently made. Please wait 30 seconds before trying again.'],
} as const

// 5xx: the broker, the store or an upstream failed. Never with a host name or a stack.

export const internalError = (cause?: unknown) =>
  new BrokerError(500, 'E0000009', 'Internal Server Error', { cause })

const unavailable = (retryAfterSeconds: number, cause: unknown, details: ErrorDetails) =>
  new BrokerError(503, 'E0000009', 'The service is temporarily unavailable', {
    headers: retryAfter(retryAfterSeconds),
    cause,
    ...details,
  })

/** Redis is unreachable or too slow. */
export const storeUnavailable = (cause?: unknown) => unavailable(2, cause, { dependency: 'store' })

/**
 * The browser could not renew the bound cookie of its session. Not 401: the user is still signed
 * in, and the browser tries again.
 */
export const boundCookieNotRenewed = () => unavailable(2, undefined, { isOfClient: true })

/** Not 429, after which a browser forgets its key (docs/decisions/0034). */
export const tooManyRefreshes = (retryAfterSeconds: number) =>
  unavailable(retryAfterSeconds, undefined, { isOfClient: true })

/** The broker is overloaded. */
export const overloaded = () => unavailable(2, undefined, { busy: 'overloaded' })

/**
 * Okta is not called now: its breaker is open, all connections are in use, or it has refused the
 * API token.
 */
export const upstreamTemporarilyUnavailable = (retryAfterSeconds: number, cause?: unknown) =>
  unavailable(retryAfterSeconds, cause, { dependency: 'authn' })

/** Okta is unreachable, closed the connection or sent a response that is not one of its API. */
export const upstreamUnavailable = (cause?: unknown) =>
  upstreamFailed(502, 'The sign-in service returned an invalid response', cause)

export const upstreamTimeout = (cause?: unknown) =>
  upstreamFailed(504, 'The sign-in service did not respond in time', cause)

const upstreamFailed = (status: 502 | 504, summary: string, cause: unknown) =>
  new BrokerError(status, 'E0000009', summary, { cause, dependency: 'authn' })

/** Another step of the transaction took longer than this step may wait. */
export const stepInProgress = () =>
  new BrokerError(503, 'E0000009', 'Another step of this sign-in is still in progress', {
    headers: retryAfter(1),
    busy: 'step_in_progress',
  })

/**
 * An error of the PAM API (docs/logs.md#pam-errors). Never 401, which would mean that the user has
 * no session.
 */
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
  pam_credentials: 'The access service refused the credentials',
  pam_not_permitted: 'The access service does not permit this lookup',
  pam_unexpected: 'The access service returned an unexpected response',
  pam_quota: 'The team has exceeded its quota at the access service',
  pam_team_disabled: 'The team is disabled at the access service',
  pam_user_unknown: 'The access service does not know this user',
  pam_misconfigured: 'The access service is not configured correctly',
  pam_deprecated: 'The access service no longer offers this resource',
  pam_rate_limited: 'The access service is rate limiting requests',
  pam_timeout: 'The access service did not respond in time',
}
