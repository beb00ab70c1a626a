import { getFactorType } from '../../factor-types.ts'
import type { Answer, AnsweredUser } from './answer.ts'

/** The proof that a step gives if Okta accepts it: the user knows a password or has a factor. */
export interface Proof {
  readonly kind: 'password' | 'factor'
  /** False for a credential that an attacker could have planted, or that is chosen in this step. */
  readonly provesUser: boolean
  /** Authentication method (RFC 8176). */
  readonly amr: string
  /** Whether the credential belongs to the user in the answer. If it is missing, every user matches. */
  readonly matchesUser?: (user: AnsweredUser | undefined) => boolean
}

const AFTER_FACTOR = ['SUCCESS', 'PASSWORD_EXPIRED', 'PASSWORD_WARN', 'PASSWORD_RESET', 'MFA_ENROLL']

/** The statuses which show that a credential was accepted. An unknown status proves nothing. */
const ACCEPTED_STATUSES: Readonly<Record<Proof['kind'], ReadonlySet<string>>> = {
  factor: new Set(AFTER_FACTOR),
  password: new Set([
    ...AFTER_FACTOR,
    'MFA_REQUIRED',
    'MFA_CHALLENGE',
    'MFA_ENROLL_ACTIVATE',
    'CONSENT_REQUIRED',
    'ADMIN_CONSENT_REQUIRED',
    'FACTOR_REQUIRED',
    'FACTOR_ENROLL',
    'PROFILE_REQUIRED',
  ]),
}

/** The proof, if this answer shows that Okta accepted it. */
export function acceptedProof(
  proof: Proof | undefined,
  { status, factorResult, user }: Answer,
): Proof | undefined {
  if (
    proof === undefined ||
    !ACCEPTED_STATUSES[proof.kind].has(status) ||
    proof.matchesUser?.(user) === false
  )
    return undefined
  const isFactorPending = proof.kind === 'factor' && factorResult !== undefined && factorResult !== 'SUCCESS'
  return isFactorPending ? undefined : proof
}

/** The credential that an operation sends; undefined: none. */
export type Proves = 'password' | 'new-password' | 'factor' | undefined

export const PASSWORD_PROOF: Proof = { kind: 'password', provesUser: true, amr: 'pwd' }
/** An activation token is a one-time password. */
export const ACTIVATION_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'otp' }
/** A factor that was verified outside this broker: by another identity provider, or by approval on a phone. */
export const EXTERNAL_FACTOR_PROOF: Proof = { kind: 'factor', provesUser: false, amr: 'mfa' }
const NEW_PASSWORD_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'pwd' }

/** The members of a transaction that decide what a credential proves in it. */
interface Origin {
  readonly origin: string
  readonly credentialAccepted: boolean
}

/** Imported, and without an accepted credential: another person may have begun it, and may advance it at Okta. */
export function isUnverifiedImport({ origin, credentialAccepted }: Origin): boolean {
  return origin === 'imported' && !credentialAccepted
}

export function getProof(
  proves: Proves,
  sent: { readonly factorType: string | undefined; readonly fields: Readonly<Record<string, unknown>> },
  transaction: Origin,
): Proof | undefined {
  // an approval on a phone, or a new password, does not show who is at this browser
  const isUnproved = isUnverifiedImport(transaction)
  switch (proves) {
    case 'password':
      return PASSWORD_PROOF
    case 'new-password': // after an accepted credential, a new password is not a second one
      return transaction.credentialAccepted || isUnproved ? undefined : NEW_PASSWORD_PROOF
    case 'factor': {
      const { amr, proof } = getFactorType(sent.factorType)
      const isSent = proof !== undefined && isNonEmptyString(sent.fields[proof])
      return isUnproved && !isSent ? undefined : { kind: 'factor', provesUser: isSent, amr }
    }
    case undefined:
      return undefined
  }
}

function isNonEmptyString(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/** The statuses in which Okta checks an operation's credential. In others it may ignore it (docs/decisions/0012). */
const CHECKED_STATUSES: Readonly<Record<string, ReadonlySet<string | undefined>>> = {
  primary: new Set(['UNAUTHENTICATED']),
  change_password: new Set(['PASSWORD_EXPIRED', 'PASSWORD_WARN']),
  verify: new Set(['MFA_REQUIRED', 'MFA_CHALLENGE', 'FACTOR_REQUIRED', 'FACTOR_CHALLENGE']),
}

/** Whether Okta checks the operation's credential in this status; undefined: Okta answered with an error. */
export function awaitsCredential(operation: string, status: string | undefined): boolean {
  return CHECKED_STATUSES[operation]?.has(status) === true
}
