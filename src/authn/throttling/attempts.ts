import { parseFactorType } from '../../factor-types.ts'
import { nonEmpty } from '../transaction/credentials.ts'
import type { Transaction } from '../transaction/transaction.ts'

/**
 * Each kind has its own limits. `push` is any challenge that the user approves elsewhere. Every
 * attempt is a `call` to Okta too; a step that is no guess and sends nothing, such as a poll, is
 * only that.
 */
export const ATTEMPT_KINDS = ['password', 'code', 'token', 'message', 'push', 'recovery', 'call'] as const
export type AttemptKind = (typeof ATTEMPT_KINDS)[number]

/** A step that Okta is called for. */
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
  /** Other devices than those on which the user has signed in are refused with 403. */
  readonly onlyKnownDevices?: boolean
}

export interface AttemptedStep {
  readonly operation: string
  readonly fields: Readonly<Record<string, unknown>>
  /** The factor in the step's path, and its type if an answer in this transaction had it. */
  readonly factorId: string | undefined
  readonly factorType: string | undefined
}

/** What an attempt of an operation counts as: always the same kind, or by what is sent. */
export type AttemptRule =
  | 'call'
  | 'code'
  | 'message'
  | 'code-if-sent'
  | 'password-if-sent'
  | 'resend'
  | 'verification'
  | 'enrollment'

/** The attempt of a step in a transaction. */
export function classifyAttempt(
  rule: AttemptRule,
  step: AttemptedStep,
  { login, userId, awaitedFactor }: Transaction,
  handle: string,
): Attempt {
  const isPoll = step.factorId !== undefined && step.factorId === awaitedFactor
  const { operation, factorType } = step
  return { kind: attemptKind(rule, step, isPoll), operation, login, userId, handle, factorType }
}

function attemptKind(rule: AttemptRule, { fields, factorType }: AttemptedStep, isPoll: boolean): AttemptKind {
  switch (rule) {
    case 'password-if-sent':
      return nonEmpty(fields.oldPassword) !== undefined ? 'password' : 'call'
    case 'code-if-sent':
      return hasCode(fields) ? 'code' : 'call'
    case 'resend': // every factor sends something
      return parseFactorType(factorType).challenge === 'approval' ? 'push' : 'message'
    case 'verification':
      return verificationKind(fields, factorType, isPoll)
    case 'enrollment':
      return enrollmentKind(fields)
    default:
      return rule
  }
}

/**
 * If the body has a password and a code, the factor type decides. Okta may send a message or a push
 * although the body has another field. Only a pass code prevents a message, and nothing prevents a
 * push.
 */
function verificationKind(
  fields: AttemptedStep['fields'],
  factorType: string | undefined,
  isPoll: boolean,
): AttemptKind {
  const { challenge, proof } = parseFactorType(factorType)
  if (challenge === 'approval' && !isPoll) return 'push'
  if (challenge === 'message') return isNonBlank(fields.passCode) ? 'code' : 'message'
  const isPassword = nonEmpty(fields.password) !== undefined
  if (isPassword && proof === 'password') return 'password'
  if (hasCode(fields)) return 'code'
  return isPassword ? 'password' : 'call'
}

/** An empty code requests a message, and is not a guess. */
function hasCode({ passCode, answer }: AttemptedStep['fields']): boolean {
  return (nonEmpty(passCode) ?? nonEmpty(answer)) !== undefined
}

/** Okta may treat white space as no code, and send a message. */
function isNonBlank(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== ''
}

/**
 * Enrolling with a phone number or email address sends a message, whatever the factor type, and a
 * code with it is not a guess. Only the code of a token can be guessed here. Enrolling a push
 * factor shows a QR code and sends no push.
 */
function enrollmentKind(fields: AttemptedStep['fields']): AttemptKind {
  const { challenge, proof } = parseFactorType(fields.factorType)
  const isToken = proof === 'passCode' && challenge === undefined
  if (hasCode(fields) && isToken) return 'code'
  if (challenge === 'message' || hasAddress(fields)) return 'message'
  return hasCode(fields) ? 'code' : 'call'
}

function hasAddress({ profile }: AttemptedStep['fields']): boolean {
  return typeof profile === 'object' && profile !== null && ('phoneNumber' in profile || 'email' in profile)
}
