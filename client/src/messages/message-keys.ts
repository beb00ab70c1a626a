import type { Denial } from '../denial.ts'
import type { ReauthenticationError } from '../reauthentication-error.ts'
import type { SessionEnd } from '../session-watch.ts'

/** The next action of the user or the page. */
export type Action =
  /** Correct the input, and send it again. */
  | 'correct'
  /**
   * Enter what the message asks for into the same field, which the page empties. Show it as
   * information, not as an error.
   */
  | 'continue'
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
  /** Set a new password (`recoverPassword`), if the page offers it. */
  | 'reset-password'
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
  apiNotProxied: 'ask-for-help',
  unknown: 'ask-for-help',
  pageFault: 'ask-for-help',
  notFound: 'ask-for-help',
  notAllowed: 'ask-for-help',
  addressBlocked: 'ask-for-help',
  signInAgain: 'sign-in-again',
  notPossible: 'ask-for-help',
  invalidInput: 'correct',
  rateLimited: 'retry',
  directoryUnavailable: 'retry',

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
  linkExpired: 'restart',
  notOffered: 'restart',

  wrongCredentials: 'correct',
  passwordExpired: 'reset-password',
  passwordBreached: 'reset-password',
  accountLocked: 'unlock',
  accountDenied: 'ask-for-help',
  accountActive: 'restart',
  accountNotReady: 'retry',
  accountUnlocked: 'none',
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
  keyNotUsed: 'retry',
  keyAlreadySetUp: 'retry',
  tokenPrompt: 'continue',
  nextTokenCode: 'continue',
  smsSent: 'retry',
  callMade: 'retry',
  emailSent: 'retry',
  tooManyMessages: 'retry',
  messagesUsedUp: 'ask-for-help',

  factorNeeded: 'sign-in-again',
  securityKeyNeeded: 'sign-in-again',
  otherMethodNeeded: 'sign-in-again',
  roleNeeded: 'ask-for-help',
  groupNeeded: 'ask-for-help',
  boundSessionNeeded: 'ask-for-help',

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

/**
 * The messages for the codes that only Gatehouse and its client have. Those of Okta, and the
 * causes: okta-codes.ts.
 */
export const GATEHOUSE_CODES: Readonly<Record<string, MessageKey>> = {
  api_not_proxied: 'apiNotProxied',
  sign_in_again: 'signInAgain',
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

/** The field that is to be corrected, by its name in the request. */
export const FIELDS: { readonly [Key in MessageKey]?: string } = {
  wrongOldPassword: 'oldPassword',
  passwordRules: 'newPassword',
  passwordUsedBefore: 'newPassword',
  passwordCommon: 'newPassword',
  invalidPhone: 'phoneNumber',
  tokenPrompt: 'passCode',
  nextTokenCode: 'passCode',
}

export const SESSION_ENDS: Readonly<Record<SessionEnd, MessageKey>> = {
  'signed-out': 'signedOutHere',
  idle: 'sessionIdle',
  expired: 'sessionExpired',
  ended: 'sessionEnded',
  replaced: 'newerSignIn',
}

export const DENIALS: Readonly<Record<Denial['reason'], MessageKey>> = {
  amr: 'otherMethodNeeded',
  age: 'signInAgain',
  role: 'roleNeeded',
  group: 'groupNeeded',
  bound: 'boundSessionNeeded',
}

export const REAUTHENTICATIONS: Readonly<Record<ReauthenticationError['reason'], MessageKey>> = {
  'other-user': 'otherUser',
  cancelled: 'cancelled',
  'signed-out': 'signedOut',
}

/**
 * The messages for errors of the browser, by name: of its functions for security keys (WebAuthn),
 * and of `fetch`. `NotAllowedError`: the user cancelled, took too long, or has no such key.
 */
export const BROWSER_ERRORS: Readonly<Record<string, MessageKey>> = {
  NotAllowedError: 'keyNotUsed',
  InvalidStateError: 'keyAlreadySetUp',
  NotSupportedError: 'notPossible',
  SecurityError: 'pageFault',
  AbortError: 'cancelled',
  TimeoutError: 'offline',
  NetworkError: 'offline',
}

/** The messages for some of the methods of a denial by `amr`. */
export const METHODS_NEEDED: { readonly [Method in Denial['amr'][number]]?: MessageKey } = {
  hwk: 'securityKeyNeeded',
  mfa: 'factorNeeded',
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
