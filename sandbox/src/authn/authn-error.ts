/** An Error object of the authentication API. */
export class AuthnError extends Error {
  readonly status: number
  readonly code: string
  readonly summary: string
  /** null: the answer has no `errorCauses` (S7). */
  readonly causes: readonly string[] | null
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: string,
    summary: string,
    causes: readonly string[] | null = [],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(`${code} ${summary}`)
    this.name = 'AuthnError'
    this.status = status
    this.code = code
    this.summary = summary
    this.causes = causes
    this.headers = headers
  }
}

const WAIT = 'Please wait 30 seconds before trying again.'
const OPERATION_NOT_ALLOWED = 'This operation is not allowed in the current authentication state.'

export const validationFailed = (name: string, causes: readonly string[]) =>
  new AuthnError(400, 'E0000001', `Api validation failed: ${name}`, causes)
export const malformedBody = () => new AuthnError(400, 'E0000003', 'The request body was not well-formed.')
export const authenticationFailed = () => new AuthnError(401, 'E0000004', 'Authentication failed')
export const accessDenied = () =>
  new AuthnError(403, 'E0000006', 'You do not have permission to perform the requested action')
export const notFound = (resource: string) =>
  new AuthnError(404, 'E0000007', `Not found: Resource not found: ${resource}`)
export const internalError = () => new AuthnError(500, 'E0000009', 'Internal Server Error')
export const invalidToken = () => new AuthnError(401, 'E0000011', 'Invalid token provided')
const updateFailed = (status: number, causes: readonly string[] | null) =>
  new AuthnError(status, 'E0000014', 'Update of credentials failed', causes)
/**
 * As in the widget's recorded answer, and as in Okta's reference
 * (docs/sandbox.md#behaviour-to-know).
 */
const WRONG_OLD_PASSWORD = {
  recorded: [400, 'Old password is not correct'],
  documented: [403, 'oldPassword: The credentials provided were incorrect.'],
} as const

export const wrongOldPassword = (form: keyof typeof WRONG_OLD_PASSWORD) => {
  const [status, cause] = WRONG_OLD_PASSWORD[form]
  return updateFailed(status, [cause])
}
/**
 * As fixtures of Okta's widget have it: one code for a changed password, another one for a reset
 * password (S7).
 */
export const passwordTooWeak = (operation: 'change' | 'reset', causes: readonly string[] | null) =>
  operation === 'change'
    ? updateFailed(403, causes)
    : new AuthnError(
        403,
        'E0000080',
        'The password does not meet the complexity requirements of the current password policy.',
        causes,
      )
/** As the reference has it, whose summary lacks the word "not". */
export const passwordTooWeakByRules = (causes: readonly string[]) =>
  new AuthnError(
    403,
    'E0000014',
    'The password does meet the complexity requirements of the current password policy.',
    causes,
  )
export const unsupportedContentType = () =>
  new AuthnError(
    415,
    'E0000021',
    'Bad request. Accept and/or Content-Type headers likely do not match supported values.',
  )
export const methodNotAllowed = (allowed: string) =>
  new AuthnError(405, 'E0000022', 'The endpoint does not support the provided HTTP method', [], {
    Allow: allowed,
  })
export const passwordResetFailed = () => new AuthnError(403, 'E0000017', 'Password reset failed')
export const unlockNotAllowed = () => new AuthnError(403, 'E0000032', 'Unlock is not allowed for this user.')
export const recoveryNotAllowed = () =>
  new AuthnError(403, 'E0000034', 'Forgot password not allowed on specified user.')
export const rateLimited = (headers: Readonly<Record<string, string>> = {}) =>
  new AuthnError(429, 'E0000047', 'API call exceeded rate limit due to too many requests.', [], headers)
export const temporaryPasswordExpired = () =>
  new AuthnError(401, 'E0000064', 'Password is expired and must be changed.')
export const invalidPasscode = (cause: string) =>
  new AuthnError(403, 'E0000068', 'Invalid Passcode/Answer', [cause])
export const factorLocked = () =>
  new AuthnError(403, 'E0000069', 'User Locked', ['Too many wrong codes: this factor is locked.'])
export const operationNotAllowed = () =>
  new AuthnError(403, 'E0000079', OPERATION_NOT_ALLOWED, [OPERATION_NOT_ALLOWED])
export const codeReplayed = () =>
  new AuthnError(
    403,
    'E0000082',
    'Each code can only be used once. Please wait for a new code and try again.',
  )
export const codeOutsideTimeWindow = () =>
  new AuthnError(403, 'E0000083', 'PassCode is valid but exceeded time window.')
export const wrongRecoveryAnswer = () =>
  new AuthnError(403, 'E0000087', 'The recovery question answer did not match our records.')
export const unknownUser = () => new AuthnError(403, 'E0000095', 'Recovery not allowed for unknown user.')
export const invalidPhoneNumber = () => new AuthnError(400, 'E0000098', 'This phone number is invalid.')
export const expiredRecoveryLink = () =>
  new AuthnError(
    403,
    'E0000105',
    'You have accessed an account recovery link that has expired or been previously used.',
  )
export const expiredLink = () =>
  new AuthnError(403, 'E0000110', 'You have accessed a link that has expired or has been previously used.')
/**
 * The next code of a token is wanted, too. The text is that of the widget's login.properties; the
 * status is unproven (S11).
 */
export const nextTokenCode = () =>
  new AuthnError(403, 'E0000106', 'Wait for token to change, then enter the new tokencode.')
/** A prompt of the server behind an RSA token. */
export const tokenPrompt = (prompt: string) => new AuthnError(409, 'E0000113', prompt)
export const smsSentRecently = () =>
  new AuthnError(429, 'E0000109', `An SMS message was recently sent. ${WAIT}`)
export const accountLocked = () =>
  new AuthnError(403, 'E0000119', 'Your account is locked. Please contact your administrator.')
export const breachedPassword = () =>
  new AuthnError(
    403,
    'E0000259',
    'Login not allowed at this time. Reset your password or contact your administrator for further assistance.',
  )
export const wrongCredentials = () =>
  new AuthnError(
    401,
    'E0000207',
    'The username and/or the password you entered is incorrect. Please try again.',
  )
export const agentTimedOut = () => new AuthnError(502, 'E0000240', 'Request timed out waiting for agent.')
export const noAgentConnected = () => new AuthnError(504, 'E0000241', 'No connected agents.')
export const emailSentRecently = () =>
  new AuthnError(429, 'E0000118', 'An email was recently sent. Please wait 5 seconds before trying again.')
export const notAcceptable = () =>
  new AuthnError(406, 'E0000122', "Accept Header did not contain supported media type 'application/json'")
export const callMadeRecently = () =>
  new AuthnError(429, 'E0000133', `A phone call was recently made. ${WAIT}`)

const REACHED = 'please try again later.'
const ORG_LIMIT = 'Your organization has reached the limit of'
const A_DAY = 'that can be sent within a 24 hour period.'

/**
 * Okta's limits on messages, as its list of error codes describes them, and the channel of each
 * (R12).
 */
export const SEND_LIMITS = {
  E0000109: { channel: 'sms', error: smsSentRecently },
  E0000118: { channel: 'email', error: emailSentRecently },
  E0000133: { channel: 'call', error: callMadeRecently },
  E0000146: limit('sms', 429, 'E0000146', `${ORG_LIMIT} sms requests ${A_DAY}`),
  E0000147: limit('call', 429, 'E0000147', `${ORG_LIMIT} call requests ${A_DAY}`),
  E0000150: limit('sms', 403, 'E0000150', `You have reached the limit of sms requests, ${REACHED}`),
  E0000151: limit('call', 403, 'E0000151', `You have reached the limit of call requests, ${REACHED}`),
  E0000186: limit(
    'sms',
    429,
    'E0000186',
    'Your free tier organization has reached the limit of sms requests that can be sent within a 30 day period.',
  ),
  E0000204: limit('sms', 429, 'E0000204', `You have reached the limit of sms requests, ${REACHED}`),
  E0000205: limit('call', 429, 'E0000205', `You have reached the limit of call requests, ${REACHED}`),
} as const satisfies Readonly<Record<string, { channel: string; error: () => AuthnError }>>

export type SendLimit = keyof typeof SEND_LIMITS

function limit<Channel extends string>(channel: Channel, status: number, code: string, summary: string) {
  return { channel, error: () => new AuthnError(status, code, summary) }
}

export function errorBody(error: AuthnError, errorId: string) {
  return {
    errorCode: error.code,
    errorSummary: error.summary,
    errorLink: error.code,
    errorId,
    ...(error.causes === null ? {} : { errorCauses: error.causes.map((errorSummary) => ({ errorSummary })) }),
  }
}
