import { parseFactorType } from '../../factor-types.ts'
import type { Transaction } from '../transaction/transaction.ts'

/** Each kind has limits of its own. */
export const ATTEMPT_KINDS = ['password', 'code', 'token', 'message', 'push', 'recovery'] as const
export type AttemptKind = (typeof ATTEMPT_KINDS)[number]

/** A guess, or a step that sends something to a user's phone or mailbox. */
export interface Attempt {
  readonly kind: AttemptKind
  readonly operation: string
  /** As typed. */
  readonly login?: string | undefined
  /** Once Okta has named the user: most limits count by it instead of the login. */
  readonly userId?: string | undefined
  /** Of the transaction; it stands for the user if neither user id nor login is known. */
  readonly handle?: string | undefined
  readonly factorType?: string | undefined
}

export interface AttemptedStep {
  readonly operation: string
  readonly fields: Readonly<Record<string, unknown>>
  /** The factor in the step's path, and its type, if an answer in this transaction named it. */
  readonly factorId: string | undefined
  readonly factorType: string | undefined
}

/** The attempt in a step of a transaction; undefined if the step has no limit, such as a poll or a security key. */
export function classifyAttempt(
  step: AttemptedStep,
  { login, userId, awaitedFactor }: Transaction,
  handle: string,
): Attempt | undefined {
  const isPoll = step.factorId !== undefined && step.factorId === awaitedFactor
  const kind = kindOf(step, isPoll)
  const { operation, factorType } = step
  return kind === undefined ? undefined : { kind, operation, login, userId, handle, factorType }
}

function kindOf({ operation, fields, factorType }: AttemptedStep, isPoll: boolean): AttemptKind | undefined {
  switch (operation) {
    case 'change_password':
      return isGiven(fields.oldPassword) ? 'password' : undefined
    case 'verify':
      return verificationOf(fields, factorType, isPoll)
    case 'duo_callback':
      return 'code'
    case 'resend': // every factor sends something
      return parseFactorType(factorType).sends ?? 'message'
    case 'enroll':
      return enrolmentOf(fields)
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
 * With a password and a code, the factor's type decides. Okta may send a message or a push although the body contains something
 * else: for a message, only a pass code prevents that; for a push, nothing does.
 */
function verificationOf(
  fields: AttemptedStep['fields'],
  factorType: string | undefined,
  isPoll: boolean,
): AttemptKind | undefined {
  const { sends, proof } = parseFactorType(factorType)
  if (sends === 'push' && !isPoll) return 'push'
  if (sends === 'message') return isWritten(fields.passCode) ? 'code' : 'message'
  const isPassword = isGiven(fields.password)
  if (isPassword && proof === 'password') return 'password'
  if (hasCode(fields)) return 'code'
  return isPassword ? 'password' : undefined
}

/** An empty code requests a message; it is no guess. */
function hasCode({ passCode, answer }: AttemptedStep['fields']): boolean {
  return isGiven(passCode) || isGiven(answer)
}

/** Okta may treat white space as no code, and send one. */
function isWritten(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== ''
}

function isGiven(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/**
 * Enrolling with a phone number or an email address sends a message, whatever the factor is called, and a code with it is no
 * guess. Only the code of a token can be guessed here. Enrolling a push factor shows a QR code and sends no push.
 */
function enrolmentOf(fields: AttemptedStep['fields']): AttemptKind | undefined {
  const { sends, proof } = parseFactorType(fields.factorType)
  const isToken = proof === 'passCode' && sends === undefined
  if (hasCode(fields) && isToken) return 'code'
  if (sends === 'message' || hasAddress(fields)) return 'message'
  return hasCode(fields) ? 'code' : undefined
}

function hasAddress({ profile }: AttemptedStep['fields']): boolean {
  return typeof profile === 'object' && profile !== null && ('phoneNumber' in profile || 'email' in profile)
}
