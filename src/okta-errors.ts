/**
 * Okta's error codes: the only place that knows what each one means for the limits, for the API
 * token, for the audit log and for the message of the page. `npm run docs` makes
 * client/src/messages/okta-codes.ts of it. `src/errors.ts` creates the errors of the broker itself,
 * with some of the same codes.
 *
 * The codes, their statuses and English texts: okta/okta-developer-docs, error-codes.json; and
 * Okta's widget, whose fixtures show some of them in another shape.
 */
export interface OktaError {
  /** The statuses with which it comes, from Okta or from the broker. */
  readonly statuses: readonly number[]
  /** For the API's documentation. */
  readonly meaning: string
  readonly counts: Counts
  readonly apiToken: TokenEvidence
  /** The key of the message for users (client/src/messages/message-keys.ts). */
  readonly message: string
  /** The audit event, if it is always the same one. */
  readonly audit?: 'factor_failed' | 'old_password_refused'
  /**
   * The org refuses an address, before it looks at the user. The broker answers with an error of
   * its own.
   */
  readonly refusesAddress?: boolean
  /** Nothing was sent, because of a limit on messages: the seconds to wait. */
  readonly sendLimitS?: number
  /**
   * What it means under further conditions. The first variant whose conditions are all met applies.
   */
  readonly variants?: readonly Variant[]
}

/**
 * What a refusal counts as, for the limits (docs/security.md#throttling):
 * - `guess`: the password, code, answer or token was wrong. Counts against the user, the device and
 *   the address;
 * - `locked`: like a guess for passwords and codes, or the limits would reveal which users are
 *   locked;
 * - `token`: the activation or recovery token was wrong. For other attempts, only a refused call;
 * - `call`: a refused call, against the address only;
 * - `nothing`: a failure or a limit of Okta. Not even a refused call, unless its status is a 4xx
 *   other than 429.
 */
export type Counts = 'guess' | 'locked' | 'token' | 'call' | 'nothing'

/**
 * What an answer shows of the SSWS token, if its call carried it: Okta checks it before anything
 * else, so it has `accepted` it if it says something about the user. `unknown`: Okta may not have
 * looked at it.
 */
export type TokenEvidence = 'accepted' | 'unknown' | 'perhaps-refused'

export interface Variant extends Partial<Pick<OktaError, 'counts' | 'message' | 'audit' | 'refusesAddress'>> {
  /** Only in answers to this operation (`name` of operations.ts). */
  readonly operation?: string
  readonly status?: number
  /**
   * In the summary or a cause. Okta's texts follow the language of the org's brand (S6), so this is
   * the last resort for what no code and no field tells, and has no effect in another language. The
   * broker's own texts are always English.
   */
  readonly text?: RegExp
}

/** Why a new password was refused: only the text tells (S7). */
const NEW_PASSWORD_REFUSED: readonly Variant[] = [
  // all rules of the policy, its history and minimum age too, whichever is broken
  { text: /password requirements: /i, message: 'passwordRules' },
  { text: /used too recently|be your current password|last \d+ passwords/i, message: 'passwordUsedBefore' },
  { text: /minimum password age|must have elapsed/i, message: 'passwordTooNew' },
  { text: /commonly used/i, message: 'passwordCommon' },
]

const WRONG_OLD_PASSWORD = {
  counts: 'guess',
  message: 'wrongOldPassword',
  audit: 'old_password_refused',
} as const

/** A guessed, used or expired link of an email. */
const LINK_REFUSED = { counts: 'token', message: 'linkExpired' } as const

const DAY_S = 86_400

export const OKTA_ERRORS = {
  E0000001: {
    statuses: [400, 408, 413, 417, 431],
    meaning: 'a field, parameter, header or the URL is wrong; a cause names it',
    counts: 'call',
    apiToken: 'unknown',
    message: 'invalidInput',
    variants: [
      { text: /^request: not complete in time/, message: 'offline' },
      { text: /(invalid|not a valid) phone number/i, message: 'invalidPhone' },
    ],
  },
  E0000003: {
    statuses: [400],
    meaning: 'the body is not a JSON object',
    counts: 'call',
    apiToken: 'unknown',
    message: 'pageFault',
  },
  E0000004: {
    statuses: [401],
    meaning:
      'sign-in failed: wrong credentials, a locked account, a policy, or an activation token that is not valid',
    counts: 'guess',
    apiToken: 'accepted',
    message: 'wrongCredentials',
  },
  E0000005: {
    statuses: [401, 403],
    meaning: 'no session',
    counts: 'call',
    apiToken: 'unknown',
    message: 'signedOut',
  },
  E0000006: {
    statuses: [403, 409],
    meaning: 'not allowed: a cross-site request, the user lacks permission, or the org refuses the address',
    counts: 'call',
    // ThreatInsight refuses an address with it before it looks at the token (S14)
    apiToken: 'unknown',
    message: 'notAllowed',
    variants: [
      // a used or expired link (R7)
      { operation: 'recovery_token', ...LINK_REFUSED },
      // ThreatInsight (S14); an API token without any rights is answered alike
      { operation: 'primary', refusesAddress: true },
      { operation: 'state', refusesAddress: true },
      { text: /refuses requests from this address/, message: 'addressBlocked' },
      { text: /^recovery: cannot be started/, message: 'recoveryNotAllowed' },
      { text: /different user from the one signed in/, message: 'otherUser' },
      { text: /another session is now open/, message: 'sessionReplaced' },
    ],
  },
  E0000007: {
    statuses: [404],
    meaning: 'not found',
    counts: 'call',
    apiToken: 'unknown',
    message: 'notFound',
  },
  E0000008: {
    statuses: [404],
    meaning: 'the path was not found',
    counts: 'call',
    apiToken: 'unknown',
    message: 'notFound',
  },
  E0000009: {
    statuses: [500, 502, 503, 504],
    meaning: 'the broker, its store or Okta failed; the credentials may be correct',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'unavailable',
    variants: [{ text: /Another step of this sign-in/, message: 'stepInProgress' }],
  },
  E0000010: {
    statuses: [503],
    meaning: 'Okta is in read-only mode',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'unavailable',
  },
  E0000011: {
    statuses: [401],
    meaning:
      'the handle is unknown, expired or belongs to another browser: start again; or the bearer token, or the secret of the event hook, is wrong',
    counts: 'token',
    apiToken: 'perhaps-refused',
    message: 'expired',
    variants: [{ text: /^device cookie not returned$/, message: 'cookiesBlocked' }],
  },
  E0000014: {
    statuses: [400, 403],
    meaning: 'the old password is wrong, or the new one violates the policy; the causes say how',
    counts: 'call',
    apiToken: 'accepted',
    message: 'passwordRules',
    variants: [
      // `oldPassword: …` in the reference, with 403; `Old password is not correct` in a fixture,
      // with 400 (S5)
      { text: /^\s*old ?password\b/i, ...WRONG_OLD_PASSWORD },
      ...NEW_PASSWORD_REFUSED,
      { text: /password requirements|passwords? must/i, message: 'passwordRules' },
      // in any language: fixtures show 400 for a wrong old password only (S5, S6)
      { status: 400, ...WRONG_OLD_PASSWORD },
    ],
  },
  E0000015: {
    statuses: [401],
    meaning: 'the org has not enabled this feature',
    counts: 'call',
    apiToken: 'unknown',
    message: 'notAllowed',
  },
  E0000016: {
    statuses: [403],
    meaning: 'the user is already active',
    counts: 'call',
    apiToken: 'accepted',
    message: 'accountActive',
  },
  E0000017: {
    statuses: [403],
    meaning: 'the password cannot be reset',
    counts: 'call',
    apiToken: 'accepted',
    message: 'resetNotAllowed',
  },
  E0000021: {
    statuses: [400, 415],
    meaning: 'the content type is not `application/json` in UTF-8',
    counts: 'call',
    apiToken: 'unknown',
    message: 'pageFault',
  },
  E0000022: {
    statuses: [405],
    meaning: 'the path does not support this method',
    counts: 'call',
    apiToken: 'unknown',
    message: 'pageFault',
  },
  E0000032: {
    statuses: [403],
    meaning: 'this user may not unlock the account',
    counts: 'call',
    apiToken: 'accepted',
    message: 'unlockNotAllowed',
  },
  E0000034: {
    statuses: [403],
    meaning: 'this user may not recover the password',
    counts: 'call',
    apiToken: 'accepted',
    message: 'resetNotAllowed',
  },
  E0000035: {
    statuses: [403],
    meaning: 'this user may not change the password',
    counts: 'call',
    apiToken: 'accepted',
    message: 'changeNotAllowed',
  },
  E0000038: {
    statuses: [403],
    meaning: 'not allowed in the status of this user',
    counts: 'call',
    apiToken: 'accepted',
    message: 'notPossible',
  },
  E0000047: {
    statuses: [429],
    meaning: 'rate limited',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'rateLimited',
  },
  E0000064: {
    statuses: [401],
    meaning: 'the temporary password has expired',
    counts: 'call',
    apiToken: 'accepted',
    message: 'passwordExpired',
  },
  E0000067: {
    statuses: [504],
    meaning: 'the service of this factor did not respond in time',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'unavailable',
  },
  E0000068: {
    statuses: [403],
    meaning: 'wrong passcode or answer',
    counts: 'guess',
    apiToken: 'accepted',
    message: 'wrongCode',
    audit: 'factor_failed',
  },
  E0000069: {
    statuses: [403],
    meaning: 'too many wrong passcodes',
    counts: 'call',
    apiToken: 'accepted',
    message: 'factorLocked',
    audit: 'factor_failed',
  },
  E0000073: {
    statuses: [403],
    meaning: 'the user rejected the request',
    counts: 'call',
    apiToken: 'accepted',
    message: 'rejected',
  },
  E0000074: {
    statuses: [400],
    meaning: 'the service of this factor failed',
    counts: 'call',
    apiToken: 'unknown',
    message: 'unavailable',
  },
  E0000079: {
    statuses: [403],
    meaning: 'this step is not offered in the current state',
    counts: 'call',
    apiToken: 'accepted',
    message: 'notOffered',
  },
  E0000080: {
    statuses: [403],
    meaning: 'the new password violates the policy; the causes say how',
    counts: 'call',
    apiToken: 'accepted',
    message: 'passwordRules',
    variants: NEW_PASSWORD_REFUSED,
  },
  E0000082: {
    statuses: [403],
    meaning: 'the code was already used',
    counts: 'call',
    apiToken: 'accepted',
    message: 'codeUsed',
    audit: 'factor_failed',
  },
  E0000083: {
    statuses: [403],
    meaning: 'the code is too old',
    counts: 'call',
    apiToken: 'accepted',
    message: 'codeExpired',
    audit: 'factor_failed',
  },
  E0000085: {
    statuses: [403],
    meaning: 'a policy does not let this user sign in now',
    counts: 'call',
    apiToken: 'accepted',
    message: 'accountDenied',
  },
  E0000087: {
    statuses: [403],
    meaning: 'wrong recovery answer',
    counts: 'guess',
    apiToken: 'accepted',
    message: 'wrongAnswer',
    audit: 'factor_failed',
  },
  E0000095: {
    statuses: [403],
    meaning: 'the user is unknown',
    counts: 'call',
    apiToken: 'accepted',
    message: 'recoveryNotAllowed',
  },
  E0000097: {
    statuses: [403],
    meaning: 'the user has no verified phone number',
    counts: 'call',
    apiToken: 'accepted',
    message: 'recoveryNotAllowed',
  },
  E0000098: {
    statuses: [400],
    meaning: 'the phone number is not valid',
    counts: 'call',
    apiToken: 'unknown',
    message: 'invalidPhone',
  },
  E0000099: {
    statuses: [403],
    meaning: 'the org does not allow phone numbers of this country',
    counts: 'call',
    apiToken: 'accepted',
    message: 'invalidPhone',
  },
  E0000105: {
    statuses: [403],
    meaning: 'the link of this recovery was used, or has expired',
    apiToken: 'accepted',
    ...LINK_REFUSED,
  },
  E0000106: {
    statuses: [403],
    meaning: 'the token wants its next code, too (RSA): wait for it',
    counts: 'call', // the code was right, or nobody could be asked to wait for the next one
    apiToken: 'accepted',
    message: 'nextTokenCode',
  },
  E0000109: {
    statuses: [429],
    meaning: 'a text message was sent recently',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'smsSent',
    sendLimitS: 30,
  },
  E0000110: {
    statuses: [403],
    meaning: 'the link was used, or has expired',
    apiToken: 'accepted',
    ...LINK_REFUSED,
  },
  E0000112: {
    statuses: [409],
    meaning: 'the user is still being activated',
    counts: 'call',
    apiToken: 'unknown',
    message: 'accountNotReady',
  },
  E0000113: {
    statuses: [409],
    meaning: 'a prompt of the server behind the token (RSA), such as for a new PIN; the summary is its text',
    counts: 'call', // the code was right, or the text is a new PIN
    apiToken: 'accepted',
    message: 'tokenPrompt',
  },
  E0000118: {
    statuses: [429],
    meaning: 'an email was sent recently',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'emailSent',
    sendLimitS: 5,
  },
  E0000119: {
    statuses: [403],
    meaning: 'the account is locked',
    counts: 'locked',
    apiToken: 'accepted',
    message: 'accountLocked',
  },
  E0000122: {
    statuses: [406],
    meaning: 'the `Accept` header excludes JSON',
    counts: 'call',
    apiToken: 'unknown',
    message: 'pageFault',
  },
  E0000133: {
    statuses: [429],
    meaning: 'a call was made recently',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'callMade',
    sendLimitS: 30,
  },
  E0000146: {
    statuses: [429],
    meaning: 'the org has sent as many text messages as it may in a day',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'messagesUsedUp',
    sendLimitS: DAY_S,
  },
  E0000147: {
    statuses: [429],
    meaning: 'the org has made as many calls as it may in a day',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'messagesUsedUp',
    sendLimitS: DAY_S,
  },
  E0000150: {
    statuses: [403],
    meaning: 'too many text messages',
    counts: 'call',
    apiToken: 'accepted',
    message: 'tooManyMessages',
    sendLimitS: 60,
  },
  E0000151: {
    statuses: [403],
    meaning: 'too many calls',
    counts: 'call',
    apiToken: 'accepted',
    message: 'tooManyMessages',
    sendLimitS: 60,
  },
  E0000186: {
    statuses: [429],
    meaning: 'the org has sent as many text messages as it may in 30 days',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'messagesUsedUp',
    sendLimitS: DAY_S,
  },
  E0000204: {
    statuses: [429],
    meaning: 'too many text messages',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'tooManyMessages',
    sendLimitS: 60,
  },
  E0000205: {
    statuses: [429],
    meaning: 'too many calls',
    counts: 'nothing',
    apiToken: 'unknown',
    message: 'tooManyMessages',
    sendLimitS: 60,
  },
  E0000207: {
    statuses: [401],
    meaning: 'wrong user name or password',
    counts: 'guess',
    apiToken: 'accepted',
    message: 'wrongCredentials',
  },
  // an agent of Active Directory or LDAP: nothing was decided about the password (S4)
  E0000240: {
    statuses: [502],
    meaning: 'the agent of the company’s directory did not answer in time; the password may be correct',
    counts: 'call',
    apiToken: 'unknown',
    message: 'directoryUnavailable',
  },
  E0000241: {
    statuses: [504],
    meaning: 'no agent of the company’s directory is connected; the password may be correct',
    counts: 'call',
    apiToken: 'unknown',
    message: 'directoryUnavailable',
  },
  E0000259: {
    statuses: [403],
    meaning: 'the password was found in a data breach, and must be reset',
    counts: 'call',
    apiToken: 'accepted',
    message: 'passwordBreached',
  },
} as const satisfies Readonly<Record<string, OktaError>>

export type OktaErrorCode = keyof typeof OKTA_ERRORS

/** An Error object of Okta. */
export interface ErrorReply {
  readonly status: number
  readonly errorCode: string | undefined
  readonly body: Readonly<Record<string, unknown>>
}

/** A code that is not in the table. */
const UNKNOWN: OktaError = {
  statuses: [],
  meaning: '',
  counts: 'nothing',
  apiToken: 'unknown',
  message: 'unknown',
}

/** What an Error object means in an answer to this operation. */
export function readError(reply: ErrorReply, operation: string): Omit<OktaError, 'variants'> {
  const { variants = [], ...error } = errorOf(reply.errorCode) ?? UNKNOWN
  const variant = variants.find((candidate) => applies(candidate, reply, operation))
  return { ...error, ...variant }
}

/** What an Error object shows of the API token. A failure shows nothing, whatever its code. */
export function tokenEvidence({
  status,
  errorCode,
}: Pick<ErrorReply, 'status' | 'errorCode'>): TokenEvidence {
  if (status >= 500) return 'unknown'
  // a 403 with another code is a decision about the user
  return errorOf(errorCode)?.apiToken ?? (status === 403 ? 'accepted' : 'unknown')
}

/** What a code means without further conditions. undefined: not a code of the table. */
export function errorOf(code: string | undefined): OktaError | undefined {
  const table: Readonly<Record<string, OktaError>> = OKTA_ERRORS
  return code !== undefined && Object.hasOwn(table, code) ? table[code] : undefined
}

function applies({ operation, status, text }: Variant, reply: ErrorReply, current: string): boolean {
  if (operation !== undefined && operation !== current) return false
  if (status !== undefined && status !== reply.status) return false
  return text === undefined || textsIn(reply.body).some((found) => text.test(found))
}

/** The summary and the causes. Okta may leave out the causes (S7). */
function textsIn({ errorSummary, errorCauses }: ErrorReply['body']): string[] {
  const causes = [errorCauses].flat().map((cause) => Object(cause).errorSummary)
  return [errorSummary, ...causes].filter((text) => typeof text === 'string')
}
