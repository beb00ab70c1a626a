import { parseFactorType } from '../../factor-types.ts'
import type { Transaction } from '../transaction/transaction.ts'

/** Each kind has its own limits. `push` is any challenge that the user approves elsewhere. */
export const ATTEMPT_KINDS = ['password', 'code', 'token', 'message', 'push', 'recovery'] as const
export type AttemptKind = (typeof ATTEMPT_KINDS)[number]

/** A guess, or a step that makes Okta send something to a user's phone or mailbox. */
export interface Attempt {
  readonly kind: AttemptKind
  readonly operation: string
  /** As typed. */
  readonly login?: string | undefined
  /** Known once Okta has named the user. Most limits then count by it instead of the login. */
  readonly userId?: string | undefined
  /** Of the transaction. Used instead of the user if neither user id nor login is known. */
  readonly handle?: string | undefined
  readonly factorType?: string | undefined
}

export interface AttemptedStep {
  readonly operation: string
  readonly fields: Readonly<Record<string, unknown>>
  /** The factor in the step's path, and its type if an answer in this transaction had it. */
  readonly factorId: string | undefined
  readonly factorType: string | undefined
}

/** The attempt of a step in a transaction; undefined if no limit applies, such as for a poll or a security key. */
export function classifyAttempt(
  step: AttemptedStep,
  { login, userId, awaitedFactor }: Transaction,
  handle: string,
): Attempt | undefined {
  const isPoll = step.factorId !== undefined && step.factorId === awaitedFactor
  const kind = attemptKind(step, isPoll)
  const { operation, factorType } = step
  return kind === undefined ? undefined : { kind, operation, login, userId, handle, factorType }
}

function attemptKind(
  { operation, fields, factorType }: AttemptedStep,
  isPoll: boolean,
): AttemptKind | undefined {
  switch (operation) {
    case 'change_password':
      return isNonEmpty(fields.oldPassword) ? 'password' : undefined
    case 'verify':
      return verificationKind(fields, factorType, isPoll)
    case 'duo_callback':
      return 'code'
    case 'resend': // every factor sends something
      return parseFactorType(factorType).challenge === 'approval' ? 'push' : 'message'
    case 'enroll':
      return enrollmentKind(fields)
    case 'activate':
    case 'reset_password':
    case 'recovery_answer':
    case 'recovery_verify':
      return hasCode(fields) ? 'code' : undefined
    case 'activate_resend':
    case 'activate_email':
    case 'activate_sms':
    case 'recovery_resend':
      return 'message'
    default:
      return undefined
  }
}

/**
 * If the body has a password and a code, the factor type decides. Okta may send a message or a push although the body
 * has another field. Only a pass code prevents a message, and nothing prevents a push.
 */
function verificationKind(
  fields: AttemptedStep['fields'],
  factorType: string | undefined,
  isPoll: boolean,
): AttemptKind | undefined {
  const { challenge, proof } = parseFactorType(factorType)
  if (challenge === 'approval' && !isPoll) return 'push'
  if (challenge === 'message') return isNonBlank(fields.passCode) ? 'code' : 'message'
  const isPassword = isNonEmpty(fields.password)
  if (isPassword && proof === 'password') return 'password'
  if (hasCode(fields)) return 'code'
  return isPassword ? 'password' : undefined
}

/** An empty code requests a message, and is not a guess. */
function hasCode({ passCode, answer }: AttemptedStep['fields']): boolean {
  return isNonEmpty(passCode) || isNonEmpty(answer)
}

/** Okta may treat white space as no code, and send a message. */
function isNonBlank(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== ''
}

function isNonEmpty(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/**
 * Enrolling with a phone number or email address sends a message, whatever the factor type, and a code with it is not a
 * guess. Only the code of a token can be guessed here. Enrolling a push factor shows a QR code and sends no push.
 */
function enrollmentKind(fields: AttemptedStep['fields']): AttemptKind | undefined {
  const { challenge, proof } = parseFactorType(fields.factorType)
  const isToken = proof === 'passCode' && challenge === undefined
  if (hasCode(fields) && isToken) return 'code'
  if (challenge === 'message' || hasAddress(fields)) return 'message'
  return hasCode(fields) ? 'code' : undefined
}

function hasAddress({ profile }: AttemptedStep['fields']): boolean {
  return typeof profile === 'object' && profile !== null && ('phoneNumber' in profile || 'email' in profile)
}
