/** What the user, or the page, can do next. */
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
  /** Reload the page: another tab has signed in. */
  | 'reload'
  /** Only somebody else can help, such as the help desk. */
  | 'ask-for-help'

/**
 * Every error code and each known cause of one. The name of an entry is the code, or the code and a short name of the cause.
 * Entries without a code are for statuses and for values of `factorResult`.
 */
export const ACTIONS = {
  offline: 'retry',
  unknown: 'ask-for-help',
  E0000001: 'correct',
  E0000003: 'ask-for-help',
  E0000004: 'correct',
  E0000005: 'sign-in',
  E0000006: 'ask-for-help',
  'E0000006 other user': 'sign-out',
  'E0000006 other session': 'reload',
  E0000007: 'ask-for-help',
  E0000009: 'retry',
  'E0000009 step in progress': 'retry',
  E0000011: 'restart',
  'E0000011 no cookie': 'restart',
  E0000014: 'correct',
  'E0000014 old password': 'correct',
  'E0000014 used before': 'correct',
  'E0000014 too new': 'ask-for-help',
  'E0000014 common': 'correct',
  E0000021: 'ask-for-help',
  E0000022: 'ask-for-help',
  E0000032: 'ask-for-help',
  E0000034: 'ask-for-help',
  E0000047: 'retry',
  E0000068: 'correct',
  E0000069: 'ask-for-help',
  E0000079: 'restart',
  E0000082: 'correct',
  E0000083: 'correct',
  E0000087: 'correct',
  E0000095: 'ask-for-help',
  E0000098: 'correct',
  E0000109: 'retry',
  E0000119: 'ask-for-help',
  E0000122: 'ask-for-help',
  E0000133: 'retry',
  pam_bad_request: 'ask-for-help',
  pam_credentials: 'ask-for-help',
  pam_deprecated: 'ask-for-help',
  pam_misconfigured: 'ask-for-help',
  pam_not_permitted: 'ask-for-help',
  pam_quota: 'ask-for-help',
  pam_rate_limited: 'retry',
  pam_team_disabled: 'ask-for-help',
  pam_timeout: 'retry',
  pam_unavailable: 'retry',
  pam_unexpected: 'ask-for-help',
  pam_user_unknown: 'ask-for-help',
  REJECTED: 'retry',
  TIMEOUT: 'retry',
  CANCELLED: 'retry',
  ERROR: 'retry',
  FAILED: 'ask-for-help',
  PASSCODE_REPLAYED: 'correct',
  TIME_WINDOW_EXCEEDED: 'correct',
} as const satisfies Readonly<Record<string, Action>>

export type MessageName = keyof typeof ACTIONS

/** The causes that have their own message, by their texts in the answers of Gatehouse and Okta. */
export const CAUSES: readonly (readonly [MessageName, RegExp])[] = [
  ['E0000006 other user', /different user from the one signed in/],
  ['E0000006 other session', /another session is now open/],
  ['E0000009 step in progress', /Another step of this sign-in/],
  ['E0000011 no cookie', /^device cookie not returned$/],
  ['E0000014 old password', /^oldPassword: /],
  ['E0000014 used before', /used too recently|current password|last \d+ passwords/i],
  ['E0000014 too new', /minimum password age|must have elapsed/i],
  ['E0000014 common', /commonly used/i],
]
