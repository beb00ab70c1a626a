import type { FactorConfig, FactorType } from '../../sandbox-config.ts'
import type { Link } from '../links.ts'
import type { Org } from '../org.ts'
import type { Challenge, FactorResult, Transaction } from '../transaction.ts'
import type { Factor, User } from '../user.ts'

/** The fields that a factor operation may bring; each kind reads its own. */
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
  /** Where links in answers and messages lead. */
  origin: string
}

export type Outcome =
  | { kind: 'verified' }
  | { kind: 'waiting'; result?: FactorResult }
  | { kind: 'wrong'; cause: string }

export type Owner = { login: string; id: string }

/** What one type of factor does. The common rules (locking, states, policies) are not its business. */
export type FactorHandler = {
  idPrefix(provider: string): string
  /** What answers show of an enrolled factor. */
  profile(config: FactorConfig, owner: Owner): Record<string, unknown> | undefined
  /** Security keys that config/sandbox.json enrolls: the public key as JWK text. */
  publicKey?(config: FactorConfig, owner: Owner): string
  /** Reads an enrollment request; throws E0000001 naming the field that is missing. */
  enroll(body: FactorBody, owner: Owner, org: Org): Partial<FactorConfig>
  /** Enrolled in one call, without MFA_ENROLL_ACTIVATE. */
  immediate: boolean
  /** Begins the challenge or the activation: sends the code, starts the push. */
  begin(step: FactorStep): void
  /** Whether this request brings an answer (a code, a signature) or asks for the challenge; `fresh`: none is on yet. */
  answers(body: FactorBody, fresh: boolean): boolean
  /** Checks an answer, also the one that activates. */
  check(step: FactorStep): Outcome
  /** A call without an answer while the challenge is on: push polls; the others stand still. */
  poll(step: FactorStep): Outcome
  /** `_embedded` of the factor while it is challenged. */
  challengeObject?(step: Omit<FactorStep, 'body'>): Record<string, unknown> | undefined
  /** `_embedded.activation` while it is enrolled. */
  activationObject?(step: Omit<FactorStep, 'body'>): Record<string, unknown>
  /** The link that sends the browser to another identity provider; it takes the place of `verify`. */
  redirect?(step: Omit<FactorStep, 'body'>): Link
  /** Name of its `resend` link; undefined: there is nothing to send again. */
  resend?: 'sms' | 'call' | 'email' | 'push'
}

export type FactorHandlers = Record<FactorType, FactorHandler>

export const WRONG_CODE = "Your passcode doesn't match our records. Please try again."
export const WRONG_ANSWER = "Your answer doesn't match our records. Please try again."
export const WRONG_PASSWORD = 'The password is incorrect.'
