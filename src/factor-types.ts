/**
 * The factor types of Okta's Authentication API. An unknown type counts as a second factor. Pure: no packages, no I/O.
 *
 * To add a type, add it to `FACTOR_TYPES`. The sandbox has its own enum (`src/sandbox/sandbox-config.ts`) and table
 * (`src/sandbox/authn/factors/factor-handlers.ts`), the demo its own form (`src/demo/page/sign-in/factors.ts`), and
 * `docs/build-your-sign-in-page.md` a table of factors.
 */
export interface FactorType {
  /** Authentication method (RFC 8176). */
  readonly amr: string
  /**
   * The field that has the proof. undefined: the user approves elsewhere, such as on a phone or at another identity
   * provider.
   */
  readonly proof?: 'passCode' | 'answer' | 'password' | 'signatureData'
  /** A challenge sends a message to a phone or mailbox, or a push. It is throttled even if Okta rejects it. */
  readonly sends?: 'message' | 'push'
  /** A user may have several factors of this type: enrolling another one replaces none. */
  readonly allowsMultiple?: boolean
}

const FACTOR_TYPES = {
  password: { amr: 'pwd', proof: 'password' },
  question: { amr: 'kba', proof: 'answer' },
  sms: { amr: 'sms', proof: 'passCode', sends: 'message' },
  call: { amr: 'tel', proof: 'passCode', sends: 'message' },
  email: { amr: 'otp', proof: 'passCode', sends: 'message' },
  push: { amr: 'swk', sends: 'push' },
  signed_nonce: { amr: 'mfa' },
  token: { amr: 'hwk', proof: 'passCode' },
  'token:software:totp': { amr: 'otp', proof: 'passCode' },
  'token:hotp': { amr: 'otp', proof: 'passCode' },
  'token:hardware': { amr: 'hwk', proof: 'passCode' },
  webauthn: { amr: 'hwk', proof: 'signatureData', allowsMultiple: true },
  u2f: { amr: 'hwk', proof: 'signatureData', allowsMultiple: true },
  web: { amr: 'mfa' },
  claims_provider: { amr: 'mfa' },
  'assertion:oidc': { amr: 'mfa' },
  'assertion:saml2': { amr: 'mfa' },
} as const satisfies Readonly<Record<string, FactorType>>

const BY_NAME: ReadonlyMap<string, FactorType> = new Map(Object.entries(FACTOR_TYPES))
const UNKNOWN: FactorType = { amr: 'mfa' }

/** `name` as in Okta's answers. */
export function getFactorType(name: string | undefined): FactorType {
  return BY_NAME.get(name ?? '') ?? UNKNOWN
}

/** `given` as in a request. Okta may ignore its letter case. */
export function parseFactorType(given: unknown): FactorType {
  return typeof given === 'string' ? getFactorType(given.toLowerCase()) : UNKNOWN
}

export const FACTOR_TYPE_NAMES = Object.keys(FACTOR_TYPES)
