import { z } from 'zod'
import { getFactorType } from '../../factor-types.ts'
import type { Answer } from './answer.ts'

/** The proof that a step gives if Okta accepts it: the user knows a password or has a factor. */
export interface Proof {
  readonly kind: 'password' | 'factor'
  /** False for a credential that an attacker could have planted, or that is chosen in this step. */
  readonly provesUser: boolean
  /** Authentication method (RFC 8176). */
  readonly amr: string
  /** The login that was sent with it, if only the user with this login proves anything. */
  readonly ofLogin?: string
}

const AFTER_FACTOR = ['SUCCESS', 'PASSWORD_EXPIRED', 'PASSWORD_WARN', 'PASSWORD_RESET', 'MFA_ENROLL']

/** The statuses that show that a credential was accepted. An unknown status proves nothing. */
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

/**
 * The proof, if this answer shows that Okta accepted it.
 *
 * @param isOfUser whether the user in the answer is the one of `proof.ofLogin`
 */
export function acceptedProof(
  proof: Proof | undefined,
  { status, factorResult }: Answer,
  isOfUser: boolean,
): Proof | undefined {
  if (proof === undefined || !ACCEPTED_STATUSES[proof.kind].has(status)) return undefined
  if (proof.ofLogin !== undefined && !isOfUser) return undefined
  const isFactorPending = proof.kind === 'factor' && factorResult !== undefined && factorResult !== 'SUCCESS'
  return isFactorPending ? undefined : proof
}

/** A credential that an operation sends. */
export type CredentialKind = 'password' | 'new-password' | 'factor'

export const PASSWORD_PROOF: Proof = { kind: 'password', provesUser: true, amr: 'pwd' }
/** An activation token is a one-time password. */
export const ACTIVATION_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'otp' }
/**
 * A factor that was verified outside this broker: by another identity provider, or by approval on a
 * phone.
 */
export const EXTERNAL_FACTOR_PROOF: Proof = { kind: 'factor', provesUser: false, amr: 'mfa' }
const NEW_PASSWORD_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'pwd' }

/** The members of a transaction that decide what a credential proves in it. */
interface Origin {
  readonly origin: string
  readonly credentialAccepted: boolean
}

/**
 * Imported, and without an accepted credential: another person may have begun it, and may advance
 * it at Okta.
 */
export function isUnverifiedImport({ origin, credentialAccepted }: Origin): boolean {
  return origin === 'imported' && !credentialAccepted
}

export function getProof(
  credential: CredentialKind | undefined,
  sent: { readonly factorType: string | undefined; readonly fields: Readonly<Record<string, unknown>> },
  transaction: Origin,
): Proof | undefined {
  // an approval on a phone, or a new password, does not show who is at this browser
  const isUnverified = isUnverifiedImport(transaction)
  switch (credential) {
    case 'password':
      return PASSWORD_PROOF
    case 'new-password': // after an accepted credential, a new password is not a second one
      return transaction.credentialAccepted || isUnverified ? undefined : NEW_PASSWORD_PROOF
    case 'factor': {
      const { amr, proof } = getFactorType(sent.factorType)
      const isSent = proof !== undefined && nonEmpty(sent.fields[proof]) !== undefined
      return isUnverified && !isSent ? undefined : { kind: 'factor', provesUser: isSent, amr }
    }
    case undefined:
      return undefined
  }
}

/** The statuses in which Okta checks an operation's credential. In others it may ignore it. */
const CHECKED_STATUSES: Readonly<Record<string, ReadonlySet<string | undefined>>> = {
  primary: new Set(['UNAUTHENTICATED']),
  change_password: new Set(['PASSWORD_EXPIRED', 'PASSWORD_WARN']),
  verify: new Set(['MFA_REQUIRED', 'MFA_CHALLENGE', 'FACTOR_REQUIRED', 'FACTOR_CHALLENGE']),
}

/**
 * Whether Okta checks the operation's credential in this status; undefined: Okta answered with an
 * error.
 */
export function awaitsCredential(operation: string, status: string | undefined): boolean {
  return CHECKED_STATUSES[operation]?.has(status) === true
}

/** A factor that is being set up, from its enroll step until it is active. */
export const Enrollment = z.object({
  factorType: z.string(),
  provider: z.string().optional(),
  /**
   * `updatePhone=true`: the user's phone number changes, also for another factor with that phone.
   */
  updatesPhone: z.boolean(),
  /** It replaces an active factor of the same type and provider. */
  replaces: z.boolean(),
})
export type Enrollment = Readonly<z.infer<typeof Enrollment>>

/** The members of a transaction that concern enrollments. */
export interface EnrollmentState {
  readonly enrollment?: Enrollment | undefined
  readonly activeFactors: readonly string[]
}

export interface EnrollmentStep {
  readonly operation: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly updatePhone: boolean
  readonly factorType: string | undefined
}

/** Operations after which a factor may be active. */
const ENROLL_OPERATIONS: ReadonlySet<string> = new Set(['enroll', 'activate', 'activate_poll'])
/** Operations on a factor that is not active yet. */
const ACTIVATION_OPERATIONS: ReadonlySet<string> = new Set(['activate', 'activate_poll', 'activate_resend'])
/** Statuses in which the factor is not active yet. */
const ACTIVATION_STATUSES: ReadonlySet<string> = new Set(['MFA_ENROLL_ACTIVATE', 'FACTOR_ENROLL_ACTIVATE'])

/** The enrollment that a step starts or continues, if any. */
export function enrollmentOfStep(
  { operation, fields, updatePhone, factorType }: EnrollmentStep,
  { enrollment, activeFactors }: EnrollmentState,
): Enrollment | undefined {
  if (operation === 'enroll') {
    const [type, provider] = [nonEmpty(fields.factorType), nonEmpty(fields.provider)]
    if (type === undefined) return undefined
    const replaces =
      getFactorType(type).allowsMultiple !== true && activeFactors.includes(factorName(type, provider))
    return { factorType: type, provider, updatesPhone: updatePhone, replaces }
  }
  if (!ACTIVATION_OPERATIONS.has(operation)) return undefined
  const begun = enrollment ?? (factorType === undefined ? undefined : { factorType, replaces: false })
  return begun && { ...begun, updatesPhone: updatePhone || enrollment?.updatesPhone === true }
}

/** The enrollment that is not complete after this answer, if any. */
export function nextEnrollment(
  { status }: Pick<Answer, 'status'>,
  inStep: Enrollment | undefined,
  before: Enrollment | undefined,
): Enrollment | undefined {
  return ACTIVATION_STATUSES.has(status) ? (inStep ?? before) : undefined
}

/** Whether this answer shows that the factor is active. */
export function completesEnrollment(operation: string, { status, factorResult }: Answer): boolean {
  const isPending = ACTIVATION_STATUSES.has(status) || status === 'LOCKED_OUT'
  const isRefused = factorResult !== undefined && factorResult !== 'SUCCESS'
  return ENROLL_OPERATIONS.has(operation) && !isPending && !isRefused
}

/**
 * An enrollment that was completed without a step here: a phone activates a push factor at Okta.
 */
export function findActivated(
  operation: string,
  { status, activeFactors }: Pick<Answer, 'status' | 'activeFactors'>,
  before: EnrollmentState,
): Enrollment | undefined {
  if (before.enrollment === undefined) return undefined
  const name = factorName(before.enrollment.factorType, before.enrollment.provider)
  const isListed = activeFactors.includes(name) && !before.activeFactors.includes(name)
  // without a step, only an active factor leads to SUCCESS
  const isOver = operation === 'state' && status === 'SUCCESS'
  return isListed || isOver ? before.enrollment : undefined
}

export function factorName(factorType: string, provider: string | undefined): string {
  return `${factorType} ${provider ?? ''}`
}

/** undefined: not a text, or an empty one. */
export function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
