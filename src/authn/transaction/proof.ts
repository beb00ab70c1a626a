import { getFactorType } from '../../factor-types.ts'
import type { Answer, AnsweredUser } from './answer.ts'

/** What a step proves if Okta accepts it. */
export interface Proof {
  readonly kind: 'password' | 'factor'
  /** False for what could have been planted, or is chosen only now. */
  readonly provesUser: boolean
  /** RFC 8176 name. */
  readonly amr: string
  /** Whether it can be of the user whom the answer names; left out: of whomever that is. */
  readonly matchesUser?: (user: AnsweredUser | undefined) => boolean
}

const AFTER_A_FACTOR = ['SUCCESS', 'PASSWORD_EXPIRED', 'PASSWORD_WARN', 'PASSWORD_RESET', 'MFA_ENROLL']

/** In which statuses a shown credential was accepted. They are lists of what counts, so an unknown status proves nothing. */
const ACCEPTED_IN: Readonly<Record<Proof['kind'], ReadonlySet<string>>> = {
  factor: new Set(AFTER_A_FACTOR),
  password: new Set([
    ...AFTER_A_FACTOR,
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

/** The proof that Okta has accepted with this answer, if any. */
export function acceptedProof(
  proof: Proof | undefined,
  { status, factorResult, user }: Answer,
): Proof | undefined {
  if (proof === undefined || !ACCEPTED_IN[proof.kind].has(status) || proof.matchesUser?.(user) === false)
    return undefined
  const isFactorOpen = proof.kind === 'factor' && factorResult !== undefined && factorResult !== 'SUCCESS'
  return isFactorOpen ? undefined : proof
}

/** What an operation shows; undefined: no credential. */
export type Proves = 'password' | 'new-password' | 'factor' | undefined

export const PASSWORD_PROOF: Proof = { kind: 'password', provesUser: true, amr: 'pwd' }
/** An activation token is a password for one use. */
export const ACTIVATION_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'otp' }
/** A factor that was verified outside of this broker: by another identity provider, or by an approval on a phone. */
export const EXTERNAL_FACTOR_PROOF: Proof = { kind: 'factor', provesUser: false, amr: 'mfa' }
const NEW_PASSWORD_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'pwd' }

/** Of a transaction: where it comes from, and whether a credential was accepted in it here. */
interface Origin {
  readonly origin: string
  readonly credentialAccepted: boolean
}

/** Imported, and no credential was accepted in it here: somebody else may have begun the transaction, and may move it. */
export function isUnverifiedImport({ origin, credentialAccepted }: Origin): boolean {
  return origin === 'imported' && !credentialAccepted
}

/** What an operation of this kind proves in a transaction. */
export function getProof(
  proves: Proves,
  shown: { readonly factorType: string | undefined; readonly fields: Readonly<Record<string, unknown>> },
  transaction: Origin,
): Proof | undefined {
  // what is approved on another phone, or chosen anew, says nothing about the user of this browser
  const isUnproved = isUnverifiedImport(transaction)
  switch (proves) {
    case 'password':
      return PASSWORD_PROOF
    case 'new-password': // after an accepted credential it is no second one
      return transaction.credentialAccepted || isUnproved ? undefined : NEW_PASSWORD_PROOF
    case 'factor': {
      const { amr, proof } = getFactorType(shown.factorType)
      const isShownHere = proof !== undefined && isShown(shown.fields[proof])
      return isUnproved && !isShownHere ? undefined : { kind: 'factor', provesUser: isShownHere, amr }
    }
    case undefined:
      return undefined
  }
}

function isShown(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/**
 * In which status Okta looks at what a step shows, by operation. In another one it may answer as if nothing had been shown
 * (docs/decisions/0012).
 */
const AWAITED_IN: Readonly<Record<string, ReadonlySet<string | undefined>>> = {
  primary: new Set(['UNAUTHENTICATED']),
  change_password: new Set(['PASSWORD_EXPIRED', 'PASSWORD_WARN']),
  verify: new Set(['MFA_REQUIRED', 'MFA_CHALLENGE', 'FACTOR_REQUIRED', 'FACTOR_CHALLENGE']),
}

/** Whether Okta looks at what the operation shows; `status` is undefined if its answer was an error. */
export function awaitsCredential(operation: string, status: string | undefined): boolean {
  return AWAITED_IN[operation]?.has(status) === true
}
