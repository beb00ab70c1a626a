import type { Denial } from '../denial.ts'
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
 * The messages for the codes that only Gatehouse has. Those of Okta, and the causes: okta-codes.ts.
 */
export const GATEHOUSE_CODES: Readonly<Record<string, MessageKey>> = {
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
