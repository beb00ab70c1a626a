/** Generated from src/okta-errors.ts by `npm run docs`. */
import type { MessageKey } from './message-keys.ts'

/** The messages for Okta's error codes, which Gatehouse uses too. */
export const OKTA_CODES: Readonly<Record<string, MessageKey>> = {
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
  E0000064: 'passwordExpired',
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
  E0000105: 'linkExpired',
  E0000106: 'nextTokenCode',
  E0000109: 'smsSent',
  E0000110: 'linkExpired',
  E0000112: 'accountNotReady',
  E0000113: 'tokenPrompt',
  E0000118: 'emailSent',
  E0000119: 'accountLocked',
  E0000122: 'pageFault',
  E0000133: 'callMade',
  E0000146: 'messagesUsedUp',
  E0000147: 'messagesUsedUp',
  E0000150: 'tooManyMessages',
  E0000151: 'tooManyMessages',
  E0000186: 'messagesUsedUp',
  E0000204: 'tooManyMessages',
  E0000205: 'tooManyMessages',
  E0000207: 'wrongCredentials',
  E0000240: 'directoryUnavailable',
  E0000241: 'directoryUnavailable',
  E0000259: 'passwordBreached',
}

/** A message for a code under further conditions. */
export interface Variant {
  readonly code: string
  readonly key: MessageKey
  /**
   * Okta's answer to a request of this path. It has no causes, unlike the broker's own errors with
   * this code.
   */
  readonly path?: string
  readonly status?: number
  /**
   * In the summary or a cause. Texts of Okta follow the language of the org's brand: in another
   * one, others apply.
   */
  readonly text?: RegExp
}

/** The first one whose conditions are all met applies. */
export const VARIANTS: readonly Variant[] = [
  { code: 'E0000001', key: 'offline', text: /^request: not complete in time/ },
  { code: 'E0000001', key: 'invalidPhone', text: /(invalid|not a valid) phone number/i },
  { code: 'E0000006', key: 'linkExpired', path: '/api/v1/authn/recovery/token' },
  { code: 'E0000006', key: 'addressBlocked', text: /refuses requests from this address/ },
  { code: 'E0000006', key: 'recoveryNotAllowed', text: /^recovery: cannot be started/ },
  { code: 'E0000006', key: 'otherUser', text: /different user from the one signed in/ },
  { code: 'E0000006', key: 'sessionReplaced', text: /another session is now open/ },
  { code: 'E0000009', key: 'stepInProgress', text: /Another step of this sign-in/ },
  { code: 'E0000011', key: 'cookiesBlocked', text: /^device cookie not returned$/ },
  { code: 'E0000014', key: 'wrongOldPassword', text: /^\s*old ?password\b/i },
  { code: 'E0000014', key: 'passwordRules', text: /password requirements: /i },
  { code: 'E0000014', key: 'passwordUsedBefore', text: /used too recently|be your current password|last \d+ passwords/i },
  { code: 'E0000014', key: 'passwordTooNew', text: /minimum password age|must have elapsed/i },
  { code: 'E0000014', key: 'passwordCommon', text: /commonly used/i },
  { code: 'E0000014', key: 'passwordRules', text: /password requirements|passwords? must/i },
  { code: 'E0000014', key: 'wrongOldPassword', status: 400 },
  { code: 'E0000080', key: 'passwordRules', text: /password requirements: /i },
  { code: 'E0000080', key: 'passwordUsedBefore', text: /used too recently|be your current password|last \d+ passwords/i },
  { code: 'E0000080', key: 'passwordTooNew', text: /minimum password age|must have elapsed/i },
  { code: 'E0000080', key: 'passwordCommon', text: /commonly used/i },
]
