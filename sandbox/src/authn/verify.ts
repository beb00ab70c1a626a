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
import { activeFactors, setNextStatus } from './next-status.ts'
import type { Org } from './org.ts'
import type { DuoForm } from './schemas.ts'
import { clearChallenge, type FactorResult, newChallenge, type Transaction } from './transaction.ts'
import type { Factor, User } from './user.ts'

/** `autoPush`: undefined if the query does not have it. */
export type VerifyQuery = { rememberDevice: boolean; autoPush: boolean | undefined }

export type FactorCall = {
  org: Org
  transaction: Transaction
  user: User
  factorId: string
  body: FactorBody
  origin: string
  pageOrigin: string | undefined
}

/**
 * POST /factors/{id}/verify: starts the challenge, polls it, or answers it.
 *
 * @returns the `autoPush` choice, if it must be saved: once a push is approved
 */
export function verifyFactor(call: FactorCall, query: VerifyQuery): boolean | undefined {
  const { org, transaction, user, body } = call
  const factor = findFactor(call)
  if (query.rememberDevice) transaction.rememberDevice = true
  if (factor.factorType === 'push') transaction.autoPush = query.autoPush ?? transaction.autoPush
  const handler = FACTOR_HANDLERS[factor.factorType]
  const isNewChallenge = !isChallenged(transaction, factor)
  const step = factorStepOf(call, factor, isNewChallenge)
  const hasAnswer = handler.hasAnswer(body, isNewChallenge)
  if (isNewChallenge && !hasAnswer) {
    setChallenge(transaction, step, call)
    handler.begin(step)
    return undefined
  }
  const outcome = hasAnswer ? checkAnswer(step, handler.check) : handler.poll(step)
  if (outcome.kind === 'verified') {
    transaction.mfaVerified = true
    setNextStatus(org, transaction, user)
    return factor.factorType === 'push' ? transaction.autoPush : undefined
  }
  setChallenge(transaction, step, call)
  transaction.factorResult = outcome.kind === 'waiting' ? outcome.result : undefined
  return undefined
}

/** POST /factors/{id}/verify/resend: sends the code or push again. */
export function resendChallenge(call: FactorCall): void {
  const factor = findFactor(call)
  const { resend, begin } = FACTOR_HANDLERS[factor.factorType]
  if (resend === undefined) throw notFound(`${factor.id} (UserFactor)`)
  const step = factorStepOf(call, factor, !isChallenged(call.transaction, factor))
  setChallenge(call.transaction, step, call)
  begin(step)
}

/**
 * POST /factors/{id}/lifecycle/duoCallback: Duo's signed response, while the factor is verified or
 * enrolled.
 */
export function duoCallback(call: Omit<FactorCall, 'body'>, form: DuoForm): void {
  const { org, transaction, user, factorId, origin, pageOrigin } = call
  const { factor, challenge } = transaction
  if (
    factor === undefined ||
    challenge === undefined ||
    factor.id !== factorId ||
    factor.factorType !== 'web'
  )
    throw notFound(`${factorId} (UserFactor)`)
  const step = { org, transaction, user, factor, challenge, body: {}, origin, pageOrigin }
  checkAnswer(step, () => completeDuo(step, form))
}

/**
 * Checks an answer and counts wrong ones. After too many, the factor rejects even a correct answer.
 */
export function checkAnswer(step: FactorStep, check: (step: FactorStep) => Outcome): Outcome {
  const { factor, org } = step
  if (factor.wrongCodes >= org.config.limits.wrongCodes) throw factorLocked()
  const outcome = check(step)
  if (outcome.kind === 'wrong') {
    factor.wrongCodes += 1
    throw invalidPasscode(outcome.cause)
  }
  if (outcome.kind === 'verified') factor.wrongCodes = 0
  const error =
    outcome.kind === 'waiting' && outcome.result ? REJECTED_CODE_ERRORS[outcome.result] : undefined
  if (error !== undefined && org.settings.refusedCodes === 'error') throw error()
  return outcome
}

/** The errors for a correct code that is not accepted, if the settings ask for errors. */
const REJECTED_CODE_ERRORS: Partial<Record<FactorResult, () => AuthnError>> = {
  PASSCODE_REPLAYED: codeReplayed,
  TIME_WINDOW_EXCEEDED: codeOutsideTimeWindow,
}

function setChallenge(transaction: Transaction, step: FactorStep, { factorId }: FactorCall): void {
  if (transaction.challenge !== step.challenge) clearChallenge(transaction)
  transaction.status = 'MFA_CHALLENGE'
  transaction.factor = step.factor
  transaction.challenge = step.challenge
  transaction.challengeByType = factorId === 'webauthn'
}

function factorStepOf(call: FactorCall, factor: Factor, isNewChallenge: boolean): FactorStep {
  const { org, transaction, user, body, origin, pageOrigin } = call
  const current = isNewChallenge ? undefined : transaction.challenge
  const challenge = current ?? newChallenge()
  return { org, transaction, user, factor, challenge, body, origin, pageOrigin }
}

/** A challenge by type is a challenge for each security key of the user. */
function isChallenged(
  { challenge, challengeByType, factor: challenged }: Transaction,
  factor: Factor,
): boolean {
  if (challenge === undefined || challenged === undefined) return false
  return challengeByType ? challenged.factorType === factor.factorType : challenged.id === factor.id
}

/** By id; the id `webauthn` means all security keys of the user. */
function findFactor(call: FactorCall): Factor {
  const { org, user, factorId } = call
  const factors = activeFactors(org, user)
  const factor =
    factorId === 'webauthn' ? findSigningKey(factors, call) : factors.find(({ id }) => id === factorId)
  if (factor === undefined) throw notFound(`${factorId} (UserFactor)`)
  return factor
}

/**
 * The key that signed the answer, as clients do not name the key that they used
 * (docs/conformance.md F-2.14). The first key, if there is no answer or no key signed it.
 */
function findSigningKey(factors: readonly Factor[], call: FactorCall): Factor | undefined {
  const keys = factors.filter(({ factorType }) => factorType === 'webauthn')
  const { hasAnswer, check } = FACTOR_HANDLERS.webauthn
  const hasSigned = (key: Factor) => check(factorStepOf(call, key, false)).kind === 'verified'
  return (hasAnswer(call.body, false) ? keys.find(hasSigned) : undefined) ?? keys[0]
}
