/**
 * The factor types of Okta's Authentication API. An unknown type counts as a second factor. Pure:
 * no packages, no I/O.
 *
 * To add a type, add it to `FACTOR_TYPES`, and its answers to `openapi/authn/factor-schemas.ts`.
 * The sandbox has its own enum (`sandbox/src/sandbox-config.ts`) and table
 * (`sandbox/src/authn/factors/factor-handlers.ts`), the page a form
 * (`examples/react/src/sign-in/factors.tsx`), and `docs/build-your-sign-in-page.md` a table of
 * factors. `test/journeys/factor-types.test.ts` fails if one is missing.
 */
export interface FactorType {
  /** Authentication method (RFC 8176), or `mfa` if the RFC has none. */
  readonly amr: string
  /** The field that has the proof. */
  readonly proof?: 'passCode' | 'answer' | 'password' | 'signatureData'
  /**
   * `message`: a challenge sends a message to a phone or mailbox. `approval`: it makes the user
   * approve elsewhere, such as on a phone or at another identity provider. Both are throttled even
   * if Okta rejects them.
   */
  readonly challenge?: 'message' | 'approval'
  /** A user may have several factors of this type: enrolling another one replaces none. */
  readonly allowsMultiple?: boolean
}

const FACTOR_TYPES = {
  password: { amr: 'pwd', proof: 'password' },
  question: { amr: 'kba', proof: 'answer' },
  sms: { amr: 'sms', proof: 'passCode', challenge: 'message' },
  call: { amr: 'tel', proof: 'passCode', challenge: 'message' },
  email: { amr: 'otp', proof: 'passCode', challenge: 'message' },
  push: { amr: 'swk', challenge: 'approval' },
  signed_nonce: { amr: 'pop', challenge: 'approval' },
  token: { amr: 'hwk', proof: 'passCode' },
  'token:software:totp': { amr: 'otp', proof: 'passCode' },
  'token:hotp': { amr: 'otp', proof: 'passCode' },
  'token:hardware': { amr: 'hwk', proof: 'passCode' },
  webauthn: { amr: 'hwk', proof: 'signatureData', allowsMultiple: true },
  u2f: { amr: 'hwk', proof: 'signatureData', allowsMultiple: true },
  web: { amr: 'mfa', challenge: 'approval' },
  claims_provider: { amr: 'mfa', challenge: 'approval' },
  'assertion:oidc': { amr: 'mfa', challenge: 'approval' },
  'assertion:saml2': { amr: 'mfa', challenge: 'approval' },
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

/** Every value that the `amr` of a session can have. */
export const AUTHENTICATION_METHODS: readonly string[] = [
  ...new Set(['pwd', 'mfa', ...Object.values(FACTOR_TYPES).map(({ amr }) => amr)]),
]
