import type { FactorConfig } from '../sandbox-config.ts'
import { advance, enrolmentOffers } from './advance.ts'
import { notAllowedNow, notFound, validationFailed } from './authn-error.ts'
import type { EnrolBody } from './bodies.ts'
import type { FactorStep } from './factors/factor-kind.ts'
import { FACTOR_KINDS, newFactor } from './factors/factor-kinds.ts'
import { phoneNumberOf } from './factors/sent-code-factors.ts'
import type { Factor, Person } from './person.ts'
import { newChallenge, type Transaction } from './transaction.ts'
import { checkedOutcome, type FactorCall } from './verify.ts'
import type { World } from './world.ts'

type EnrolCall = Omit<FactorCall, 'factorId' | 'body'> & { body: EnrolBody; updatePhone: boolean }

/** POST /factors: enrols at once, or leads to MFA_ENROLL_ACTIVATE. */
export function enrolFactor(call: EnrolCall): void {
  const { world, transaction, person, body, origin } = call
  const factor = factorFrom(call)
  const kind = FACTOR_KINDS[factor.factorType]
  const step = { world, transaction, person, factor, challenge: newChallenge(), body, origin }
  if (kind.immediate) {
    if (factor.factorType !== 'question') checkedOutcome(step, kind.check)
    keepFactor(world, transaction, person, factor)
    return
  }
  transaction.status = 'MFA_ENROLL_ACTIVATE'
  transaction.factor = factor
  transaction.challenge = step.challenge
  transaction.factorResult = undefined
  kind.begin(step)
}

/** POST …/lifecycle/activate: the code or attestation; without one, push polls or starts again. */
export function activateFactor(call: FactorCall): void {
  const step = enrolmentStep(call)
  const { world, transaction, person, factor, body } = step
  const kind = FACTOR_KINDS[factor.factorType]
  if (!isPolled(factor) && !kind.answers(body, false))
    throw validationFailed('factorActivateRequest', ['passCode: The field cannot be left blank'])
  const outcome = kind.answers(body, false) ? checkedOutcome(step, kind.check) : kind.poll(step)
  if (outcome.kind === 'verified') keepFactor(world, transaction, person, factor)
  else if (outcome.kind === 'waiting') transaction.factorResult = outcome.result
}

/** POST …/lifecycle/activate/poll: for push and Duo. */
export function pollActivation(call: FactorCall): void {
  if (!isPolled(enrolmentStep(call).factor)) throw notAllowedNow()
  activateFactor({ ...call, body: {} })
}

/** POST …/lifecycle/activate/{email,sms}: sends a link that activates the push factor when it is opened. */
export function sendActivationLink(call: FactorCall, by: 'email' | 'sms'): void {
  const { world, transaction, person, factor, origin } = enrolmentStep(call)
  if (factor.factorType !== 'push') throw notAllowedNow()
  const to = by === 'email' ? person.login : phoneNumberOf(call.body, world)
  const token = world.tokens.short()
  world.pushLinks.put(token, transaction.stateToken)
  const link = `${origin}/signin/push-activation/${token}`
  world.outbox.send({
    kind: by === 'email' ? 'mail' : 'sms',
    login: person.login,
    to,
    purpose: 'push-activation',
    text: `Open this link on your phone to set up the verification app: ${link}`,
    link,
    token,
  })
}

/** POST …/lifecycle/resend: once more the text message, call or mail; a new phone number may come with it. */
export function resendEnrolment(call: FactorCall): void {
  const step = enrolmentStep(call)
  const { factor } = step
  const kind = FACTOR_KINDS[factor.factorType]
  if (kind.resend === undefined || kind.resend === 'push') throw notAllowedNow()
  if (factor.factorType !== 'email' && call.body.profile?.phoneNumber !== undefined) {
    factor.config = { ...factor.config, phoneNumber: phoneNumberOf(call.body, step.world) }
    factor.profile = kind.profile(factor.config, step.person)
  }
  kind.begin(step)
}

/** An enrolled factor counts as verified in this transaction. */
function keepFactor(world: World, transaction: Transaction, person: Person, factor: Factor): void {
  const phone = factor.config.phoneNumber
  if (phone !== undefined)
    for (const other of person.factors)
      if (isPhone(other)) {
        other.config = { ...other.config, phoneNumber: phone }
        other.profile = FACTOR_KINDS[other.factorType].profile(other.config, person)
      }
  person.factors.push(factor)
  transaction.mfaDone = true
  transaction.enrolledNow = true
  advance(world, transaction, person)
}

function enrolmentStep(call: FactorCall): FactorStep {
  const { world, transaction, person, body, origin, factorId } = call
  const { factor, challenge } = transaction
  if (factor === undefined || challenge === undefined || factor.id !== factorId)
    throw notFound(`${factorId} (UserFactor)`)
  return { world, transaction, person, factor, challenge, body, origin }
}

/** Offered by the enrolment policy, switched on, and not there yet; else E0000001. */
function factorFrom({ world, person, body, updatePhone }: EnrolCall): Factor {
  const offer = enrolmentOffers(world, person).find(
    (one) => one.type === body.factorType && one.provider === body.provider,
  )
  if (offer === undefined)
    throw refused(`factorType: ${body.factorType} of ${body.provider} is not enabled or not offered`)
  if (offer.factor !== undefined) throw refused('factorType: A factor of this type is already set up.')
  const fields = FACTOR_KINDS[offer.type].enrol(body, person, world)
  refuseOtherPhone(person, fields, updatePhone)
  const config: FactorConfig = {
    type: offer.type,
    provider: offer.provider,
    allowReplay: false,
    answers: 'approve',
    numberChallenge: false,
    ...fields,
  }
  const seed = `${person.login} ${offer.type} ${offer.provider} ${world.random(8).toString('hex')}`
  return newFactor(config, person, seed)
}

/** One phone a person: another number needs `updatePhone=true`. */
function refuseOtherPhone(person: Person, fields: Partial<FactorConfig>, updatePhone: boolean): void {
  const known = person.factors.find(isPhone)?.config.phoneNumber
  if (fields.phoneNumber === undefined || known === undefined || updatePhone) return
  if (fields.phoneNumber !== known.replace(/[\s().-]/g, ''))
    throw refused('There is an existing verified phone number.')
}

function isPolled({ factorType }: Factor): boolean {
  return factorType === 'push' || factorType === 'web'
}

function isPhone(factor: Factor): boolean {
  return factor.factorType === 'sms' || factor.factorType === 'call'
}

function refused(cause: string) {
  return validationFailed('factorEnrollRequest', [cause])
}
