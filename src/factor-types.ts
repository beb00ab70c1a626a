/**
 * The factor types of Okta's Authentication API, one row each. An unknown type is just a second factor. Pure: no package, no
 * input or output.
 */
export interface FactorType {
  /** Its authentication method (RFC 8176). */
  readonly amr: string
  /**
   * The field that shows the proof in this browser. undefined: the user approves elsewhere, such as on a phone or at another
   * identity provider; no field is looked at.
   */
  readonly proof?: 'passCode' | 'answer' | 'password' | 'signatureData'
  /** What its challenge sends: a message to a phone or mailbox, or a push. It is throttled even if Okta refuses it. */
  readonly sends?: 'message' | 'push'
  /** A user may have several: one more replaces none. */
  readonly several?: boolean
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
  webauthn: { amr: 'hwk', proof: 'signatureData', several: true },
  u2f: { amr: 'hwk', proof: 'signatureData', several: true },
  web: { amr: 'mfa' },
  claims_provider: { amr: 'mfa' },
  'assertion:oidc': { amr: 'mfa' },
  'assertion:saml2': { amr: 'mfa' },
} as const satisfies Readonly<Record<string, FactorType>>

const BY_NAME: ReadonlyMap<string, FactorType> = new Map(Object.entries(FACTOR_TYPES))
const UNKNOWN: FactorType = { amr: 'mfa' }

/** Of a type as Okta names it. */
export function getFactorType(name: string | undefined): FactorType {
  return BY_NAME.get(name ?? '') ?? UNKNOWN
}

/** Of a type as a browser names it: Okta need not be strict about letter case. */
export function parseFactorType(given: unknown): FactorType {
  return typeof given === 'string' ? getFactorType(given.toLowerCase()) : UNKNOWN
}

/** Every known name. */
export const FACTOR_TYPE_NAMES = Object.keys(FACTOR_TYPES)
