import type { FactorConfig } from '../sandbox-config.ts'
import { notFound, operationNotAllowed, validationFailed } from './authn-error.ts'
import type { FactorStep } from './factors/factor-handler.ts'
import { FACTOR_HANDLERS, newFactor } from './factors/factor-handlers.ts'
import { readPhoneNumber } from './factors/sent-code-factors.ts'
import { enrollmentOffers, setNextStatus } from './next-status.ts'
import type { Org } from './org.ts'
import type { EnrollBody } from './schemas.ts'
import { enforceSendLimits } from './send-limits.ts'
import { newChallenge, type Transaction } from './transaction.ts'
import { emailOf, type Factor, type User } from './user.ts'
import { checkAnswer, type FactorCall } from './verify.ts'

type EnrollCall = Omit<FactorCall, 'factorId' | 'body'> & { body: EnrollBody; updatePhone: boolean }

/** POST /factors: enrolls the factor, or leads to MFA_ENROLL_ACTIVATE. */
export function enrollFactor(call: EnrollCall): void {
  const { org, transaction, user, body, origin, pageOrigin } = call
  const factor = factorFrom(call)
  const handler = FACTOR_HANDLERS[factor.factorType]
  const step = { org, transaction, user, factor, challenge: newChallenge(), body, origin, pageOrigin }
  if (handler.immediate) {
    if (factor.factorType !== 'question') checkAnswer(step, handler.check)
    addFactor(org, transaction, user, factor)
    return
  }
  transaction.status = 'MFA_ENROLL_ACTIVATE'
  transaction.factor = factor
  transaction.challenge = step.challenge
  transaction.factorResult = undefined
  handler.begin(step)
}

/**
 * POST …/lifecycle/activate: checks the code or attestation. Without one, a push is polled or sent
 * again.
 */
export function activateFactor(call: FactorCall): void {
  const step = enrollmentStep(call)
  const { org, transaction, user, factor, body } = step
  const handler = FACTOR_HANDLERS[factor.factorType]
  if (!isPolled(factor) && !handler.hasAnswer(body, false))
    throw validationFailed('factorActivateRequest', ['passCode: The field cannot be left blank'])
  const outcome = handler.hasAnswer(body, false) ? checkAnswer(step, handler.check) : handler.poll(step)
  if (outcome.kind === 'verified') addFactor(org, transaction, user, factor)
  else if (outcome.kind === 'waiting') transaction.factorResult = outcome.result
}

/** POST …/lifecycle/activate/poll: for push and Duo. */
export function pollActivation(call: FactorCall): void {
  if (!isPolled(enrollmentStep(call).factor)) throw operationNotAllowed()
  activateFactor({ ...call, body: {} })
}

/** POST …/lifecycle/activate/{email,sms}: sends a link that activates the push factor. */
export function sendActivationLink(call: FactorCall, by: 'email' | 'sms'): void {
  const { org, transaction, user, factor, origin } = enrollmentStep(call)
  if (factor.factorType !== 'push') throw operationNotAllowed()
  const to = by === 'email' ? emailOf(user) : readPhoneNumber(call.body, org)
  enforceSendLimits(org, by, undefined)
  const token = org.tokens.issueShort()
  org.pushLinks.put(token, transaction.stateToken)
  const link = `${origin}/signin/push-activation/${token}`
  org.outbox.send({
    kind: by === 'email' ? 'mail' : 'sms',
    login: user.login,
    to,
    purpose: 'push-activation',
    text: `Open this link on your phone to set up Okta Verify: ${link}`,
    link,
    token,
  })
}

/**
 * An approval by an external identity provider takes effect when the transaction's state is
 * requested.
 */
export function applyIdentityProviderApproval(org: Org, transaction: Transaction): void {
  const { user, factor, challenge, status } = transaction
  if (challenge?.redirectKey === undefined || challenge.pushAnswer !== 'approve') return
  if (user === undefined || factor === undefined) return
  if (status === 'MFA_ENROLL_ACTIVATE') addFactor(org, transaction, user, factor)
  else {
    transaction.mfaVerified = true
    setNextStatus(org, transaction, user)
  }
}

/** POST …/lifecycle/resend: sends the code again; the request may have a new phone number. */
export function resendEnrollment(call: FactorCall): void {
  const step = enrollmentStep(call)
  const { factor } = step
  const handler = FACTOR_HANDLERS[factor.factorType]
  if (handler.resend === undefined || handler.resend === 'push') throw operationNotAllowed()
  if (factor.factorType !== 'email' && call.body.profile?.phoneNumber !== undefined) {
    factor.config = { ...factor.config, phoneNumber: readPhoneNumber(call.body, step.org) }
    factor.profile = handler.profile(factor.config, step.user)
  }
  handler.begin(step)
}

/** An enrolled factor is also verified in this transaction. */
function addFactor(org: Org, transaction: Transaction, user: User, factor: Factor): void {
  const phone = factor.config.phoneNumber
  if (phone !== undefined)
    for (const other of user.factors)
      if (isPhone(other)) {
        other.config = { ...other.config, phoneNumber: phone }
        other.profile = FACTOR_HANDLERS[other.factorType].profile(other.config, user)
      }
  user.factors.push(factor)
  transaction.mfaVerified = true
  transaction.enrolledInTransaction = true
  setNextStatus(org, transaction, user)
}

function enrollmentStep(call: FactorCall): FactorStep {
  const { org, transaction, user, body, origin, pageOrigin, factorId } = call
  const { factor, challenge } = transaction
  if (factor === undefined || challenge === undefined || factor.id !== factorId)
    throw notFound(`${factorId} (UserFactor)`)
  return { org, transaction, user, factor, challenge, body, origin, pageOrigin }
}

/**
 * @throws E0000001 unless the policy offers the factor, it is enabled, and it is not enrolled yet
 */
function factorFrom({ org, user, body, updatePhone }: EnrollCall): Factor {
  const offer = enrollmentOffers(org, user).find(
    ({ type, provider }) => type === body.factorType && provider === body.provider,
  )
  if (offer === undefined)
    throw enrollmentFailed(`factorType: ${body.factorType} of ${body.provider} is not enabled or not offered`)
  if (offer.factor !== undefined)
    throw enrollmentFailed('factorType: A factor of this type is already set up.')
  const fields = FACTOR_HANDLERS[offer.type].enroll(body, user, org)
  requireSamePhone(user, fields, updatePhone)
  const config: FactorConfig = {
    type: offer.type,
    provider: offer.provider,
    vendorName: offer.vendorName,
    allowReplay: false,
    answers: 'approve',
    numberChallenge: false,
    returnsTo: offer.returnsTo,
    ...fields,
  }
  const seed = `${user.login} ${offer.type} ${offer.provider} ${org.random(8).toString('hex')}`
  return newFactor(config, user, seed)
}

/** A user has one phone number; changing it requires `updatePhone=true`. */
function requireSamePhone(user: User, fields: Partial<FactorConfig>, updatePhone: boolean): void {
  const known = user.factors.find(isPhone)?.config.phoneNumber
  if (fields.phoneNumber === undefined || known === undefined || updatePhone) return
  if (fields.phoneNumber !== known.replace(/[\s().-]/g, ''))
    throw enrollmentFailed('There is an existing verified phone number.')
}

function isPolled({ factorType }: Factor): boolean {
  return factorType === 'push' || factorType === 'web'
}

function isPhone(factor: Factor): boolean {
  return factor.factorType === 'sms' || factor.factorType === 'call'
}

function enrollmentFailed(cause: string) {
  return validationFailed('factorEnrollRequest', [cause])
}
