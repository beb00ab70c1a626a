import type { FactorConfig, FactorType } from '../../sandbox-config.ts'
import type { Link } from '../links.ts'
import type { Org } from '../org.ts'
import type { Challenge, FactorResult, Transaction } from '../transaction.ts'
import type { Factor, User } from '../user.ts'

/** The fields of a factor operation's body. */
export type FactorBody = {
  passCode?: string | undefined
  answer?: string | undefined
  password?: string | undefined
  clientData?: string | undefined
  signatureData?: string | undefined
  authenticatorData?: string | undefined
  attestation?: string | undefined
  registrationData?: string | undefined
  profile?: Record<string, unknown> | undefined
}

export type FactorStep = {
  org: Org
  transaction: Transaction
  user: User
  factor: Factor
  challenge: Challenge
  body: FactorBody
  /** The origin of links in responses and messages. */
  origin: string
  /** The `Origin` header of the request. */
  pageOrigin: string | undefined
}

/** A step as a response shows it. */
export type FactorView = Omit<FactorStep, 'body' | 'pageOrigin'>

export type Outcome =
  | { kind: 'verified' }
  | { kind: 'waiting'; result?: FactorResult }
  | { kind: 'wrong'; cause: string }

export type FactorOwner = { login: string; id: string }

/**
 * The behaviour of a factor type. Locking, states and policies apply to all types and are
 * elsewhere.
 */
export type FactorHandler = {
  idPrefix(provider: string): string
  /** The profile of an enrolled factor in responses. */
  profile(config: FactorConfig, owner: FactorOwner): Record<string, unknown> | undefined
  /** Security keys in sandbox/sandbox.json: the public key as serialized JWK. */
  publicKey?(config: FactorConfig, owner: FactorOwner): string
  /** Reads an enrollment request. Throws E0000001 naming the missing field. */
  enroll(body: FactorBody, owner: FactorOwner, org: Org): Partial<FactorConfig>
  /** Enrollment needs one request, without MFA_ENROLL_ACTIVATE. */
  immediate: boolean
  /** Starts the challenge or the activation: sends the code or push. */
  begin(step: FactorStep): void
  /**
   * Whether the body has an answer (a code, a signature). If not, the request starts or polls the
   * challenge.
   */
  hasAnswer(body: FactorBody, isNewChallenge: boolean): boolean
  /** Checks an answer, in verification and activation. */
  check(step: FactorStep): Outcome
  /**
   * A request without an answer during the challenge. Has an effect only for factors that are
   * polled.
   */
  poll(step: FactorStep): Outcome
  /** `_embedded` of the factor during the challenge. */
  challengeObject?(step: FactorView): Record<string, unknown> | undefined
  /** `_embedded.activation` during enrollment. */
  activationObject?(step: FactorView): Record<string, unknown>
  /** The link to an external identity provider, which replaces the `verify` or `activate` link. */
  redirect?(step: FactorView): Link
  /** The name of the `resend` link; undefined if nothing can be sent again. */
  resend?: 'sms' | 'call' | 'email' | 'push'
}

export type FactorHandlers = Record<FactorType, FactorHandler>

export const WRONG_CODE = "Your passcode doesn't match our records. Please try again."
export const WRONG_ANSWER = "Your answer doesn't match our records. Please try again."
export const WRONG_PASSWORD = 'The password is incorrect.'
