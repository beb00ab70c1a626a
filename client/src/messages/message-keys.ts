import type { SessionEnd } from '../session-watch.ts'

/** The next action of the user or the page. */
export type Action =
  /** Correct the input, and send it again. */
  | 'correct'
  /** Send the same again, after `retryAfterSeconds` if it is set. */
  | 'retry'
  /** Begin the sign-in again. */
  | 'restart'
  /** Sign in: there is no session. */
  | 'sign-in'
  /** Sign out, then begin again: another user is signed in. */
  | 'sign-out'
  /** Sign in within the session, which stays open, and repeat. */
  | 'sign-in-again'
  /** Unlock the account (`unlockAccount`), if the page offers it. */
  | 'unlock'
  /** Reload the page: another tab has signed in. */
  | 'reload'
  /** Nothing: show it as information, not as an error. */
  | 'none'
  /** Only others can help, such as the help desk. */
  | 'ask-for-help'

/** Every message, by its key. */
export const ACTIONS = {
  offline: 'retry',
  unavailable: 'retry',
  stepInProgress: 'retry',
  unknown: 'ask-for-help',
  pageFault: 'ask-for-help',
  notFound: 'ask-for-help',
  notAllowed: 'ask-for-help',
  signInAgain: 'sign-in-again',
  notPossible: 'ask-for-help',
  invalidInput: 'correct',
  rateLimited: 'retry',

  signedOut: 'sign-in',
  signedOutHere: 'sign-in',
  sessionIdle: 'sign-in',
  sessionExpired: 'sign-in',
  sessionEnded: 'sign-in',
  otherUser: 'sign-out',
  sessionReplaced: 'reload',
  newerSignIn: 'reload',
  cookiesBlocked: 'restart',
  expired: 'restart',
  notOffered: 'restart',

  wrongCredentials: 'correct',
  accountLocked: 'unlock',
  accountDenied: 'ask-for-help',
  accountActive: 'restart',
  accountNotReady: 'retry',
  unlockNotAllowed: 'ask-for-help',
  resetNotAllowed: 'ask-for-help',
  recoveryNotAllowed: 'ask-for-help',
  changeNotAllowed: 'ask-for-help',

  passwordRules: 'correct',
  wrongOldPassword: 'correct',
  passwordUsedBefore: 'correct',
  passwordTooNew: 'ask-for-help',
  passwordCommon: 'correct',

  wrongCode: 'correct',
  wrongAnswer: 'correct',
  codeUsed: 'correct',
  codeExpired: 'correct',
  factorLocked: 'ask-for-help',
  invalidPhone: 'correct',
  smsSent: 'retry',
  callMade: 'retry',

  groupsNotAvailable: 'ask-for-help',
  groupsNotAvailableNow: 'retry',
  pamDisabled: 'ask-for-help',
  pamUserUnknown: 'none',

  rejected: 'retry',
  notAnswered: 'retry',
  cancelled: 'retry',
  notDelivered: 'retry',
  providerRefused: 'ask-for-help',
} as const satisfies Readonly<Record<string, Action>>

/** Stable: a page may decide by it. */
export type MessageKey = keyof typeof ACTIONS

/** The messages for error codes: those of Gatehouse, and those that Okta documents for its Authentication API. */
export const CODES: Readonly<Record<string, MessageKey>> = {
  E0000001: 'invalidInput',
  E0000003: 'pageFault',
  E0000004: 'wrongCredentials',
  E0000005: 'signedOut',
  E0000006: 'notAllowed',
  E0000007: 'notFound',
  E0000008: 'notFound',
  E0000009: 'unavailable',
  E0000010: 'unavailable',
  E0000011: 'expired',
  E0000014: 'passwordRules',
  E0000015: 'notAllowed',
  E0000016: 'accountActive',
  E0000017: 'resetNotAllowed',
  E0000021: 'pageFault',
  E0000022: 'pageFault',
  E0000032: 'unlockNotAllowed',
  E0000034: 'resetNotAllowed',
  E0000035: 'changeNotAllowed',
  E0000038: 'notPossible',
  E0000047: 'rateLimited',
  E0000067: 'unavailable',
  E0000068: 'wrongCode',
  E0000069: 'factorLocked',
  E0000073: 'rejected',
  E0000074: 'unavailable',
  E0000079: 'notOffered',
  E0000080: 'passwordRules',
  E0000082: 'codeUsed',
  E0000083: 'codeExpired',
  E0000085: 'accountDenied',
  E0000087: 'wrongAnswer',
  E0000095: 'recoveryNotAllowed',
  E0000097: 'recoveryNotAllowed',
  E0000098: 'invalidPhone',
  E0000099: 'invalidPhone',
  E0000105: 'expired',
  E0000106: 'codeUsed',
  E0000109: 'smsSent',
  E0000110: 'expired',
  E0000112: 'accountNotReady',
  E0000119: 'accountLocked',
  E0000122: 'pageFault',
  E0000133: 'callMade',
  sign_in_again: 'signInAgain',
  E0000207: 'wrongCredentials',
  pam_bad_request: 'groupsNotAvailable',
  pam_credentials: 'groupsNotAvailable',
  pam_deprecated: 'groupsNotAvailable',
  pam_misconfigured: 'groupsNotAvailable',
  pam_not_permitted: 'groupsNotAvailable',
  pam_quota: 'groupsNotAvailable',
  pam_rate_limited: 'groupsNotAvailableNow',
  pam_team_disabled: 'pamDisabled',
  pam_timeout: 'groupsNotAvailableNow',
  pam_unavailable: 'groupsNotAvailableNow',
  pam_unexpected: 'groupsNotAvailable',
  pam_user_unknown: 'pamUserUnknown',
}

/** The causes that have their own message, by their English texts. In another language, Okta's code applies. */
export const CAUSES: readonly (readonly [code: string, text: RegExp, key: MessageKey])[] = [
  ['E0000001', /^request: not complete in time/, 'offline'],
  ['E0000001', /(invalid|not a valid) phone number/i, 'invalidPhone'],
  ['E0000006', /different user from the one signed in/, 'otherUser'],
  ['E0000006', /another session is now open/, 'sessionReplaced'],
  ['E0000009', /Another step of this sign-in/, 'stepInProgress'],
  ['E0000011', /^device cookie not returned$/, 'cookiesBlocked'],
  ['E0000014', /^oldPassword: /, 'wrongOldPassword'],
  ['E0000014', /used too recently|be your current password|last \d+ passwords/i, 'passwordUsedBefore'],
  ['E0000014', /minimum password age|must have elapsed/i, 'passwordTooNew'],
  ['E0000014', /commonly used/i, 'passwordCommon'],
]

export const SESSION_ENDS: Readonly<Record<SessionEnd, MessageKey>> = {
  'signed-out': 'signedOutHere',
  idle: 'sessionIdle',
  expired: 'sessionExpired',
  ended: 'sessionEnded',
  replaced: 'newerSignIn',
}

/** The messages for values of `factorResult` other than `WAITING`. */
export const RESULTS: Readonly<Record<string, MessageKey>> = {
  REJECTED: 'rejected',
  TIMEOUT: 'notAnswered',
  CANCELLED: 'cancelled',
  ERROR: 'notDelivered',
  FAILED: 'providerRefused',
  PASSCODE_REPLAYED: 'codeUsed',
  TIME_WINDOW_EXCEEDED: 'codeExpired',
}
