import type { Transaction } from '../transaction/transaction.ts'
import type { AttemptKind } from './figures.ts'

/** Something that can be guessed, or that reaches somebody's phone or mailbox. */
export interface Attempt {
  readonly kind: AttemptKind
  readonly operation: string
  /** As typed. With neither this nor a user id there is no person to count by. */
  readonly login?: string | undefined
  /** Once the upstream has named the person; limits go by it rather than by the login. */
  readonly userId?: string | undefined
  readonly handle?: string | undefined
  readonly factorType?: string | undefined
}

export interface AttemptedStep {
  readonly operation: string
  readonly fields: Readonly<Record<string, unknown>>
  /** The factor in the step's path, and its type, if the transaction has heard of it. */
  readonly factorId: string | undefined
  readonly factorType: string | undefined
}

/** What a step inside a transaction tries; undefined: nothing that has a limit, such as a poll or a security key. */
export function attemptIn(
  step: AttemptedStep,
  { login, userId, awaitedFactor }: Transaction,
  handle: string,
): Attempt | undefined {
  const isPoll = step.factorId !== undefined && step.factorId === awaitedFactor
  const kind = kindOf(step, isPoll)
  const { operation, factorType } = step
  return kind === undefined ? undefined : { kind, operation, login, userId, handle, factorType }
}

/** Factors whose challenge is a message to somebody. */
const MESSAGES = new Set(['sms', 'call', 'email'])

function kindOf({ operation, fields, factorType }: AttemptedStep, isPoll: boolean): AttemptKind | undefined {
  switch (operation) {
    case 'change_password':
      return isGiven(fields.oldPassword) ? 'password' : undefined
    case 'verify':
      return verificationOf(fields, factorType, isPoll)
    case 'duo_callback':
      return 'code'
    case 'resend': // whatever the factor, something is sent
      return typed(factorType) === 'push' ? 'push' : 'message'
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
 * A password beside a code counts as what the factor asks for. Where the upstream does not look at what is shown, it may ring
 * or write all the same: for a code that comes by a message, only a pass code keeps it from that; for a push, nothing.
 */
function verificationOf(
  fields: AttemptedStep['fields'],
  factorType: string | undefined,
  isPoll: boolean,
): AttemptKind | undefined {
  const type = typed(factorType)
  if (type === 'push' && !isPoll) return 'push'
  if (MESSAGES.has(type)) return isWritten(fields.passCode) ? 'code' : 'message'
  const isPassword = isGiven(fields.password)
  if (isPassword && type === 'password') return 'password'
  if (hasCode(fields)) return 'code'
  return isPassword ? 'password' : undefined
}

/** An empty code asks for one to be sent; it guesses nothing. */
function hasCode({ passCode, answer }: AttemptedStep['fields']): boolean {
  return isGiven(passCode) || isGiven(answer)
}

/** The upstream may take white space for no code at all, and send one. */
function isWritten(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== ''
}

function isGiven(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/**
 * Whoever names a phone or a mailbox has it written to, by whatever name they call the factor; a code beside it guesses
 * nothing then. Only a token's own code can be guessed here. To enrol a push factor shows a picture: no phone rings.
 */
function enrolmentOf(fields: AttemptedStep['fields']): AttemptKind | undefined {
  const type = typed(fields.factorType)
  if (hasCode(fields) && type.startsWith('token')) return 'code'
  if (MESSAGES.has(type) || hasAddress(fields)) return 'message'
  return hasCode(fields) ? 'code' : undefined
}

function hasAddress({ profile }: AttemptedStep['fields']): boolean {
  return typeof profile === 'object' && profile !== null && ('phoneNumber' in profile || 'email' in profile)
}

/** The upstream need not be strict about case in what a browser sends. */
function typed(factorType: unknown): string {
  return typeof factorType === 'string' ? factorType.toLowerCase() : ''
}
