import { parseFactorType } from '../../factor-types.ts'
import type { LoginNames } from '../../login-names.ts'
import { type Counts, errorOf } from '../../okta-errors.ts'
import { nonEmpty } from '../transaction/credentials.ts'
import type { StepOutcome } from '../transaction/step-outcome.ts'
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

/** What the answer to a step tells about its attempt. */
export interface AttemptResult {
  /** The answer for the browser. */
  readonly outcome: StepOutcome
  /**
   * The status in Okta's answer, also if the broker refuses it. undefined: an Error object, or the
   * broker's own answer.
   */
  readonly status?: string | undefined
  readonly factorResult?: string | undefined
  /**
   * What Okta's Error object counts as. undefined: the code of the outcome tells, if it has one.
   */
  readonly counts?: Counts | undefined
}

/**
 * Factor results that do not reject a code: the sign-in continues, waits, or requires the next
 * code.
 */
const HARMLESS_RESULTS: ReadonlySet<string> = new Set(['SUCCESS', 'WAITING', 'CHALLENGE'])
/**
 * They may reach the user even if the response is lost, or a client could disconnect early and send
 * without limit.
 */
export const SENT: ReadonlySet<AttemptKind> = new Set(['message', 'push', 'recovery'])

/**
 * LOCKED_OUT stays counted like any failure, or the limits would reveal which users are locked out.
 * A push stays counted if it was sent, or if a code with it was rejected.
 */
export function staysCounted(kind: AttemptKind, result: AttemptResult): boolean {
  const { outcome, status, factorResult } = result
  // if Okta answered with a status, it was sent, even if the broker refuses the answer
  const isSent = SENT.has(kind) && (codeOf(outcome) === undefined || status !== undefined)
  const counts = refusalOf(result)
  if (kind === 'token') return counts === 'guess' || counts === 'token'
  if (kind === 'message' || kind === 'recovery') return isSent
  if (kind === 'push') return isSent || counts === 'guess'
  const isRejected = counts === 'guess' || counts === 'locked' || status === 'LOCKED_OUT'
  if (kind === 'password') return isRejected
  // some factors reject a code with status 200
  return isRejected || (factorResult !== undefined && !HARMLESS_RESULTS.has(factorResult))
}

/** What a refusal counts as; undefined for a success, and for an unknown code. */
function refusalOf({ counts, outcome }: AttemptResult): Counts | undefined {
  return counts ?? errorOf(codeOf(outcome))?.counts
}

function codeOf(outcome: AttemptResult['outcome']): string | undefined {
  return outcome.kind === 'refusal' ? outcome.code : outcome.errorCode
}

/**
 * Whether the call stays counted: Okta answered it with a 4xx, but not with its own rate limit; or
 * with a code that counts whatever its status; or it rejected a guess with another status. If an
 * answer has a status, it was a success, even if the broker refuses it.
 */
export function isRefusedCall(kind: AttemptKind, result: AttemptResult): boolean {
  const { outcome, status } = result
  const counts = refusalOf(result) ?? 'nothing'
  if (status === undefined && (isRefusal(outcome.status) || counts !== 'nothing')) return true
  return (kind === 'password' || kind === 'code') && staysCounted(kind, result)
}

/** Whether a status of Okta refuses a call. */
export function isRefusal(status = 0): boolean {
  return status >= 400 && status < 500 && status !== 429
}

/**
 * A user as named in an attempt. Users whose logins differ only in the domain (LOGIN_DOMAINS) share
 * a key prefix.
 */
export interface NamedUser {
  /** Names the key prefix. */
  readonly keyName: readonly string[]
  /** The user who has signed in, after a full sign-in with this name. */
  readonly distinct: readonly string[]
  /** All users that the name may mean. A failure counts in the `inARow` window of each. */
  readonly candidates: readonly (readonly string[])[]
}

function soleUser(...name: readonly string[]): NamedUser {
  return { keyName: name, distinct: name, candidates: [name] }
}

export function byUserId(userId: string): NamedUser {
  return soleUser('user', userId)
}

/** Whether Okta has named the user. */
export function isNamedByOkta({ keyName: [kind] }: NamedUser): boolean {
  return kind === 'user'
}

export function byLogin({ canonical, distinct, candidates }: LoginNames, login: string): NamedUser {
  return {
    keyName: ['login', canonical(login)],
    distinct: ['login', distinct(login)],
    candidates: candidates(login).map((name) => ['login', name]),
  }
}

/**
 * A password is counted by login in every step, because primary authentication knows only the
 * login.
 */
export function countedUser(
  logins: LoginNames,
  { kind, userId, login, handle }: Attempt,
): NamedUser | undefined {
  if (userId !== undefined && (kind !== 'password' || login === undefined)) return byUserId(userId)
  if (login !== undefined) return byLogin(logins, login)
  return handle === undefined ? undefined : soleUser('transaction', handle)
}
