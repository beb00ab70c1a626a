import type { SignOnPolicy } from '../sandbox-config.ts'
import { authenticationFailed } from './authn-error.ts'
import type { Factor, Person } from './person.ts'
import { dropChallenge, type Transaction } from './transaction.ts'
import type { World } from './world.ts'

/**
 * Decides what a transaction whose person is authenticated needs next: a factor, a new password, an
 * enrolment, or nothing. A factor comes before an expired password; an enrolment comes last.
 *
 * @throws E0000004 when the sign-on policy denies
 */
export function advance(world: World, transaction: Transaction, person: Person): void {
  dropChallenge(transaction)
  const policy = signOnPolicyOf(world, person)
  if (policy !== undefined && isDenied(policy, transaction)) throw authenticationFailed()
  transaction.status = nextStatus(world, transaction, person, policy)
  if (transaction.status === 'SUCCESS') finish(world, transaction, person, policy)
}

/** undefined: none is assigned. */
export function signOnPolicyOf(world: World, person: Person): SignOnPolicy | undefined {
  const name = person.config.signOnPolicy
  return name === null ? undefined : world.config.signOnPolicies[name]
}

/** Factors that are enrolled and switched on. */
export function activeFactors(world: World, person: Person): Factor[] {
  return person.factors.filter((factor) =>
    world.config.enabledFactors.includes(`${factor.factorType}:${factor.provider}`),
  )
}

/** What the enrolment policy offers this person, with the factor when it is set up already. */
export function enrolmentOffers(world: World, person: Person) {
  const name = person.config.enrollmentPolicy
  const offers = name === null ? [] : (world.config.enrollmentPolicies[name] ?? [])
  return offers
    .filter((offer) => world.config.enabledFactors.includes(`${offer.type}:${offer.provider}`))
    .map((offer) => ({
      ...offer,
      factor: person.factors.find((one) => one.factorType === offer.type && one.provider === offer.provider),
    }))
}

/** A choice of further factors may be left once every required one is there and one is set up. */
export function mayLeaveEnrolment(world: World, person: Person): boolean {
  const offers = enrolmentOffers(world, person)
  const requiredLeft = offers.some((offer) => offer.enrollment === 'REQUIRED' && offer.factor === undefined)
  return !requiredLeft && activeFactors(world, person).length > 0
}

function nextStatus(
  world: World,
  transaction: Transaction,
  person: Person,
  policy: SignOnPolicy | undefined,
): Transaction['status'] {
  const hasFactor = activeFactors(world, person).length > 0
  const wantsFactor = policy !== undefined && policy.mfa !== 'never'
  if (wantsFactor && hasFactor && !transaction.mfaDone && !isSpared(world, transaction, person, policy))
    return 'MFA_REQUIRED'
  if (!transaction.passwordDone && person.passwordExpired) return 'PASSWORD_EXPIRED'
  if (!transaction.passwordDone && shouldWarn(world, transaction, person)) return 'PASSWORD_WARN'
  if (wantsFactor && needsEnrolment(world, transaction, person)) return 'MFA_ENROLL'
  return 'SUCCESS'
}

function isDenied(policy: SignOnPolicy, { caller }: Transaction): boolean {
  return policy.deny || policy.deniedAddresses.includes(caller.address)
}

/**
 * The device is known well enough that this policy asks for no factor. Per device and per session only the device of the
 * person's last sign-in counts (authn-api.md, "Rules for deviceToken" 2): after one on another device, or on none, a factor
 * is asked for again.
 */
function isSpared(
  world: World,
  { caller: { deviceToken } }: Transaction,
  person: Person,
  policy: SignOnPolicy,
): boolean {
  const device = deviceToken === undefined ? undefined : person.devices.get(deviceToken)
  if (device === undefined) return false
  const isThePrevious = deviceToken === person.lastDeviceToken
  const { mfaSessionMinutes } = world.config.lifetimes
  switch (policy.mfa) {
    case 'device':
      return isThePrevious && device.rememberedUntilMs !== undefined && device.rememberedUntilMs > world.now()
    case 'session':
      return (
        isThePrevious &&
        device.mfaAtMs !== undefined &&
        world.now() - device.mfaAtMs < mfaSessionMinutes * 60_000
      )
    case 'new-device':
      return true
    default:
      return false
  }
}

function shouldWarn(world: World, transaction: Transaction, person: Person): boolean {
  const policy = world.config.passwordPolicies[person.config.passwordPolicy]
  return (
    transaction.warnBeforePasswordExpired &&
    person.passwordExpiresInDays !== undefined &&
    policy !== undefined &&
    person.passwordExpiresInDays <= policy.warnDays
  )
}

function needsEnrolment(world: World, transaction: Transaction, person: Person): boolean {
  if (!mayLeaveEnrolment(world, person)) {
    if (enrolmentOffers(world, person).every((offer) => offer.factor !== undefined))
      throw authenticationFailed() // a factor is demanded, and none can be set up
    return true
  }
  const optionalLeft = enrolmentOffers(world, person).some((offer) => offer.factor === undefined)
  const goOn = transaction.multiOptionalFactorEnroll && transaction.enrolledNow
  return goOn && optionalLeft && !transaction.enrolmentSkipped
}

/** SUCCESS: a session token, unless it is a step-up; and what the org learns about the device. */
function finish(
  world: World,
  transaction: Transaction,
  person: Person,
  policy: SignOnPolicy | undefined,
): void {
  const { deviceToken } = transaction.caller
  if (deviceToken !== undefined) rememberDevice(world, transaction, person, policy, deviceToken)
  person.lastDeviceToken = deviceToken
  if (transaction.autoPush) person.autoPush = true
  noticeFingerprint(world, transaction, person)
  // A step-up keeps its state token, for the redirect to the app; an unlocked account is not a sign-in.
  if (transaction.app !== undefined) return
  transaction.sessionToken = world.tokens.long()
  world.sessionTokens.put(transaction.sessionToken, person)
  world.transactions.end(transaction)
}

function rememberDevice(
  world: World,
  { mfaDone, rememberDevice }: Transaction,
  person: Person,
  policy: SignOnPolicy | undefined,
  deviceToken: string,
): void {
  const before = person.devices.get(deviceToken)
  const minutes = policy?.rememberDeviceLifetimeInMinutes ?? 0
  const until = minutes === 0 ? Number.POSITIVE_INFINITY : world.now() + minutes * 60_000
  const remembers = mfaDone && rememberDevice && policy?.allowRememberDevice === true
  person.devices.set(deviceToken, {
    mfaAtMs: mfaDone ? world.now() : before?.mfaAtMs,
    rememberedUntilMs: remembers ? until : before?.rememberedUntilMs,
  })
}

/** A fingerprint that no earlier sign-in of this person had: a mail, when such mails are switched on. */
function noticeFingerprint(world: World, { caller }: Transaction, person: Person): void {
  if (caller.fingerprint === undefined || person.fingerprints.has(caller.fingerprint)) return
  person.fingerprints.add(caller.fingerprint)
  if (!world.config.newDeviceMail) return
  world.outbox.send({
    kind: 'mail',
    login: person.login,
    to: person.login,
    purpose: 'new-device',
    text: 'We noticed a sign-in to your account from a new device.',
  })
}
