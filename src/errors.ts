/**
 * Every error that Gatehouse itself answers with. One shape, one catalogue (DESIGN §2): a status, a stable
 * code, a sentence for people, causes that name the trouble, and a private `cause` that is logged, never sent.
 */
export class BrokerError extends Error {
  override readonly name = 'BrokerError'
  readonly status: number
  readonly code: string
  readonly causes: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** Whose trouble it is, when it is not ours; for the log. */
  readonly dependency: Dependency | undefined

  constructor(status: number, code: string, summary: string, details: ErrorDetails = {}) {
    super(summary, { cause: details.cause })
    this.status = status
    this.code = code
    this.causes = details.causes ?? []
    this.headers = details.headers ?? {}
    this.dependency = details.dependency
  }
}

/** What the broker can't work without: the sign-in API, the PAM API, Redis. */
export type Dependency = 'authn' | 'pam' | 'store'

export interface ErrorDetails {
  /** Sentences for the caller, each naming what is wrong. */
  readonly causes?: readonly string[]
  /** Response headers that belong to the error, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** What really happened; for the log's eyes only. */
  readonly cause?: unknown
  readonly dependency?: Dependency
}

/** The body of every error answer, in the sign-in API's own shape. `errorLink` repeats the code. */
export interface ErrorObject {
  errorCode: string
  errorSummary: string
  errorLink: string
  errorId: string
  errorCauses: { errorSummary: string }[]
}

export function toErrorObject(error: BrokerError, errorId: string): ErrorObject {
  return {
    errorCode: error.code,
    errorSummary: error.message,
    errorLink: error.code,
    errorId,
    errorCauses: error.causes.map((errorSummary) => ({ errorSummary })),
  }
}

// 400: the request is wrong

/** A field is missing, of the wrong type, too long. Each cause begins with the field's name. */
export const invalidField = (...causes: string[]) =>
  new BrokerError(400, 'E0000001', `Api validation failed: ${fieldOf(causes[0])}`, { causes })

export const bodyTooLarge = (limitBytes: number) =>
  new BrokerError(413, 'E0000001', 'Api validation failed: body', {
    causes: [`body: larger than ${limitBytes} bytes`],
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
    {
      causes: [`Content-Type: must be ${expected} in UTF-8`],
    },
  )

export const malformedRequest = (cause?: unknown) =>
  new BrokerError(400, 'E0000001', 'Api validation failed: request', {
    causes: ['request: malformed'],
    cause,
  })

/** 414: the URL, 431: the headers. */
export const tooLong = (what: 'url' | 'headers', status: 414 | 431) =>
  new BrokerError(status, 'E0000001', `Api validation failed: ${what}`, { causes: [`${what}: too long`] })

/** The request did not arrive in time. */
export const requestTooSlow = () =>
  new BrokerError(408, 'E0000001', 'Api validation failed: request', {
    causes: ['request: not complete in time'],
  })

/** 417: the client wants more of us than we do. */
export const unmetExpectation = () =>
  new BrokerError(417, 'E0000001', 'Api validation failed: request', {
    causes: ['Expect: only 100-continue is understood'],
  })

// 401, 403: who is asking, and may they

export const noSession = () => new BrokerError(401, 'E0000005', 'Invalid session')

/** An unknown, expired or foreign handle. `cause` says so when the device cookie did not come back. */
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

/** What the sign-in began with is of another user than the session that is open in this browser. */
export const anothersSession = (field: 'stateToken' | 'token' | 'recoveryToken') =>
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

/** The page speaks for a session that another tab has replaced by now (`X-Gatehouse-Session`). */
export const otherSession = () =>
  new BrokerError(409, 'E0000006', 'The session of this browser has changed', {
    causes: ['X-Gatehouse-Session: another session is open in this browser by now'],
  })

// 429

export const rateLimited = (limit: { limit: number; resetAtSeconds: number; retryAfterSeconds: number }) =>
  new BrokerError(429, 'E0000047', 'API call exceeded rate limit due to too many requests.', {
    headers: {
      'Retry-After': String(limit.retryAfterSeconds),
      'X-Rate-Limit-Limit': String(limit.limit),
      'X-Rate-Limit-Remaining': '0',
      'X-Rate-Limit-Reset': String(limit.resetAtSeconds),
    },
  })

/** A code was sent a moment ago; by text message and by call the codes differ (field notes). */
export const sentRecently = (factorType: 'SMS' | 'CALL', retryAfterSeconds: number) =>
  new BrokerError(429, factorType === 'SMS' ? 'E0000109' : 'E0000133', SENT_RECENTLY[factorType], {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  })

const SENT_RECENTLY = {
  SMS: 'An SMS message was recently sent. Please wait 30 seconds before trying again.',
  CALL: 'A voice call was recently made. Please wait 30 seconds before trying again.',
} as const

// 5xx: us, the store, the upstream. Never a host name, never a stack.

export const internalError = (cause?: unknown) =>
  new BrokerError(500, 'E0000009', 'Internal Server Error', { cause })

/** Redis is out of reach or too slow: never an answer about the session itself. */
export const storeUnavailable = (cause?: unknown) =>
  new BrokerError(503, 'E0000009', 'The service is temporarily unavailable', {
    headers: { 'Retry-After': '2' },
    cause,
    dependency: 'store',
  })

/** The upstream could not be reached, cut the connection or answered with something that is no API answer. */
export const upstreamUnavailable = (cause?: unknown) =>
  new BrokerError(502, 'E0000009', 'The sign-in service did not answer as expected', {
    cause,
    dependency: 'authn',
  })

export const upstreamTimeout = (cause?: unknown) =>
  new BrokerError(504, 'E0000009', 'The sign-in service did not answer in time', {
    cause,
    dependency: 'authn',
  })

/** We take on nothing now: too much is under way. */
export const temporarilyUnavailable = (retryAfterSeconds: number, cause?: unknown) =>
  new BrokerError(503, 'E0000009', 'The service is temporarily unavailable', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    cause,
  })

/** We do not call the sign-in API now: its breaker is open, all connections are taken, or our token is refused. */
export const upstreamHeldBack = (retryAfterSeconds: number, cause?: unknown) =>
  new BrokerError(503, 'E0000009', 'The service is temporarily unavailable', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    cause,
    dependency: 'authn',
  })

/** Another step of the same transaction took longer than we wait for it. */
export const stepInProgress = () =>
  new BrokerError(503, 'E0000009', 'Another step of this sign-in is still in progress', {
    headers: { 'Retry-After': '1' },
  })

/** PAM trouble, by the names of DESIGN §6; never the SPA's 401. */
export const pamError = (
  status: 404 | 502 | 503 | 504,
  code: `pam_${string}`,
  details: { retryAfterSeconds?: number | undefined; cause?: unknown } = {},
) =>
  new BrokerError(status, code, PAM_SUMMARY[code] ?? 'The access service is not available', {
    ...(details.retryAfterSeconds === undefined
      ? {}
      : { headers: { 'Retry-After': String(details.retryAfterSeconds) } }),
    cause: details.cause,
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

function fieldOf(cause: string | undefined): string {
  return cause?.split(':', 1)[0] ?? 'request'
}
