import { activeFactors, advance } from './advance.ts'
import {
  type AuthnError,
  codeOutsideTimeWindow,
  codeReplayed,
  factorLocked,
  invalidPasscode,
  notFound,
} from './authn-error.ts'
import { completeDuo } from './factors/duo-factor.ts'
import type { FactorBody, FactorStep, Outcome } from './factors/factor-handler.ts'
import { FACTOR_HANDLERS } from './factors/factor-handlers.ts'
import type { Org } from './org.ts'
import type { DuoForm } from './schemas.ts'
import { clearChallenge, type FactorResult, newChallenge, type Transaction } from './transaction.ts'
import type { Factor, User } from './user.ts'

/** What verify takes from the query. */
export type VerifyQuery = { rememberDevice: boolean; autoPush: boolean }

export type FactorCall = {
  org: Org
  transaction: Transaction
  user: User
  factorId: string
  body: FactorBody
  origin: string
}

/** POST /factors/{id}/verify: asks for the challenge, polls it, or answers it. */
export function verifyFactor(call: FactorCall, query: VerifyQuery): void {
  const { org, transaction, user, body } = call
  const factor = factorToVerify(call)
  if (query.rememberDevice) transaction.rememberDevice = true
  if (query.autoPush) transaction.autoPush = true
  const kind = FACTOR_HANDLERS[factor.factorType]
  const fresh = !isChallenged(transaction, factor)
  const step = stepOf(call, factor, fresh)
  const answers = kind.answers(body, fresh)
  if (fresh && !answers) {
    setChallenge(transaction, step, call)
    kind.begin(step)
    return
  }
  const outcome = answers ? checkAnswer(step, kind.check) : kind.poll(step)
  if (outcome.kind === 'verified') {
    transaction.mfaVerified = true
    advance(org, transaction, user)
    return
  }
  setChallenge(transaction, step, call)
  transaction.factorResult = outcome.kind === 'waiting' ? outcome.result : undefined
}

/** POST /factors/{id}/verify/resend: once more the text message, call, mail or push. */
export function resendChallenge(call: FactorCall): void {
  const factor = factorToVerify(call)
  const { resend, begin } = FACTOR_HANDLERS[factor.factorType]
  if (resend === undefined) throw notFound(`${factor.id} (UserFactor)`)
  const step = stepOf(call, factor, !isChallenged(call.transaction, factor))
  setChallenge(call.transaction, step, call)
  begin(step)
}

/** POST /factors/{id}/lifecycle/duoCallback: the form of Duo's frame, while the factor is verified or enrolled. */
export function duoCallback(call: Omit<FactorCall, 'body'>, form: DuoForm): void {
  const { org, transaction, user, factorId, origin } = call
  const { factor, challenge } = transaction
  if (
    factor === undefined ||
    challenge === undefined ||
    factor.id !== factorId ||
    factor.factorType !== 'web'
  )
    throw notFound(`${factorId} (UserFactor)`)
  const step = { org, transaction, user, factor, challenge, body: {}, origin }
  checkAnswer(step, () => completeDuo(step, form))
}

/** Counts wrong answers; after so many the factor takes none, not even the right one. */
export function checkAnswer(step: FactorStep, check: (step: FactorStep) => Outcome): Outcome {
  const { factor, org } = step
  if (factor.wrongCodes >= org.config.limits.wrongCodes) throw factorLocked()
  const outcome = check(step)
  if (outcome.kind === 'wrong') {
    factor.wrongCodes += 1
    throw invalidPasscode(outcome.cause)
  }
  if (outcome.kind === 'verified') factor.wrongCodes = 0
  const refusal = outcome.kind === 'waiting' && outcome.result ? REFUSALS[outcome.result] : undefined
  if (refusal !== undefined && org.settings.refusedCodes === 'error') throw refusal()
  return outcome
}

/** The results of a code that is right but not accepted, in their other form: an error. */
const REFUSALS: Partial<Record<FactorResult, () => AuthnError>> = {
  PASSCODE_REPLAYED: codeReplayed,
  TIME_WINDOW_EXCEEDED: codeOutsideTimeWindow,
}

/** What another identity provider approved takes effect when the transaction is asked where it stands. */
export function applyIdentityProviderApproval(org: Org, transaction: Transaction): void {
  const { user, challenge } = transaction
  if (user === undefined || challenge?.redirectKey === undefined || challenge.pushAnswer !== 'approve') return
  transaction.mfaVerified = true
  advance(org, transaction, user)
}

function setChallenge(transaction: Transaction, step: FactorStep, { factorId }: FactorCall): void {
  if (transaction.challenge !== step.challenge) clearChallenge(transaction)
  transaction.status = 'MFA_CHALLENGE'
  transaction.factor = step.factor
  transaction.challenge = step.challenge
  transaction.challengeByType = factorId === 'webauthn'
}

function stepOf(call: FactorCall, factor: Factor, fresh: boolean): FactorStep {
  const { org, transaction, user, body, origin } = call
  const current = fresh ? undefined : transaction.challenge
  return { org, transaction, user, factor, challenge: current ?? newChallenge(), body, origin }
}

/** A challenge for every security key of the user is one for this key too. */
function isChallenged(
  { challenge, challengeByType, factor: challenged }: Transaction,
  factor: Factor,
): boolean {
  if (challenge === undefined || challenged === undefined) return false
  return challengeByType ? challenged.factorType === factor.factorType : challenged.id === factor.id
}

/** By id; `webauthn` in its place stands for all security keys of the user. */
function factorToVerify(call: FactorCall): Factor {
  const { org, user, factorId } = call
  const factors = activeFactors(org, user)
  const factor =
    factorId === 'webauthn' ? keyToVerify(factors, call) : factors.find(({ id }) => id === factorId)
  if (factor === undefined) throw notFound(`${factorId} (UserFactor)`)
  return factor
}

/**
 * The key that signed the answer: clients do not name the one they used (field-notes.md, "verify webauthn"). The first
 * one, when there is no answer yet or none of them signed it.
 */
function keyToVerify(factors: readonly Factor[], call: FactorCall): Factor | undefined {
  const keys = factors.filter(({ factorType }) => factorType === 'webauthn')
  const { answers, check } = FACTOR_HANDLERS.webauthn
  const hasSigned = (key: Factor) => check(stepOf(call, key, false)).kind === 'verified'
  return (answers(call.body, false) ? keys.find(hasSigned) : undefined) ?? keys[0]
}
