import type { Factor, UnknownStatus } from './answers.ts'
import type { Assertion } from './security-keys.ts'

export interface Credentials {
  /** White space around it is not sent. */
  readonly username: string
  readonly password: string
}

export interface NewPassword {
  readonly newPassword: string
  /** Ends the user's other sessions. Default: true after a recovery, otherwise false. */
  readonly revokeSessions?: boolean
}

export interface PasswordChange extends NewPassword {
  readonly oldPassword: string
}

export interface RecoveryRequest {
  /** White space around it is not sent. */
  readonly username: string
  readonly factorType: 'EMAIL' | 'SMS' | 'CALL'
}

export interface VerifyOptions {
  /** "Do not ask again on this device." Also applies to the steps that complete this challenge. */
  readonly rememberDevice?: boolean
  /**
   * "Send a push at once the next time." Also applies to the steps that complete this challenge.
   */
  readonly autoPush?: boolean
}

export interface PhoneNumber {
  readonly profile: { readonly phoneNumber: string }
}

/** The fields of a new factor. Which ones depends on its type. */
export interface Enrollment {
  readonly profile?: {
    readonly phoneNumber?: string
    readonly phoneExtension?: string
    readonly question?: string
    readonly answer?: string
    readonly password?: string
    readonly credentialId?: string
    readonly email?: string
  }
  readonly passCode?: string
  readonly nextPassCode?: string
}

interface PassCode {
  readonly passCode: string
}

/** The proof of a factor, by its type. The types without an entry have none to send. */
interface Proofs {
  question: { readonly answer: string }
  password: { readonly password: string }
  webauthn: Assertion
  sms: PassCode
  call: PassCode
  email: PassCode
  token: PassCode
  'token:software:totp': PassCode
  'token:hotp': PassCode
  'token:hardware': PassCode
}

export type Proof = Proofs[keyof Proofs]

export type ProofOf<Chosen extends Factor> = Chosen['factorType'] extends keyof Proofs
  ? Proofs[Chosen['factorType']]
  : Chosen['factorType'] extends WithoutProof
    ? undefined
    : Proof

type WithoutProof = Exclude<Factor['factorType'], keyof Proofs | UnknownStatus>
