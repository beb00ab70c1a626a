import type { SignOnPolicy } from '../sandbox-config.ts'
import { authenticationFailed } from './authn-error.ts'
import type { Org } from './org.ts'
import { clearChallenge, type Transaction } from './transaction.ts'
import type { Factor, User } from './user.ts'

/**
 * Decides what a transaction whose user is authenticated needs next: a factor, a new password, an
 * enrollment, or nothing. A factor comes before an expired password; an enrollment comes last.
 *
 * @throws E0000004 when the sign-on policy denies
 */
export function advance(org: Org, transaction: Transaction, user: User): void {
  clearChallenge(transaction)
  const policy = signOnPolicyOf(org, user)
  if (policy !== undefined && isDenied(policy, transaction)) throw authenticationFailed()
  transaction.status = nextStatus(org, transaction, user, policy)
  if (transaction.status === 'SUCCESS') finish(org, transaction, user, policy)
}

/** undefined: none is assigned. */
export function signOnPolicyOf(org: Org, user: User): SignOnPolicy | undefined {
  const name = user.config.signOnPolicy
  return name === null ? undefined : org.config.signOnPolicies[name]
}

/** Factors that are enrolled and switched on. */
export function activeFactors(org: Org, user: User): Factor[] {
  return user.factors.filter((factor) =>
    org.config.enabledFactors.includes(`${factor.factorType}:${factor.provider}`),
  )
}

/** What the enrollment policy offers this user, with the factor when it is set up already. */
export function enrollmentOffers(org: Org, user: User) {
  const name = user.config.enrollmentPolicy
  const offers = name === null ? [] : (org.config.enrollmentPolicies[name] ?? [])
  return offers
    .filter((offer) => org.config.enabledFactors.includes(`${offer.type}:${offer.provider}`))
    .map((offer) => ({
      ...offer,
      factor: user.factors.find((one) => one.factorType === offer.type && one.provider === offer.provider),
    }))
}

/** A choice of further factors may be left once every required one is there and one is set up. */
export function canSkipEnrollment(org: Org, user: User): boolean {
  const offers = enrollmentOffers(org, user)
  const requiredLeft = offers.some((offer) => offer.enrollment === 'REQUIRED' && offer.factor === undefined)
  return !requiredLeft && activeFactors(org, user).length > 0
}

function nextStatus(
  org: Org,
  transaction: Transaction,
  user: User,
  policy: SignOnPolicy | undefined,
): Transaction['status'] {
  const hasFactor = activeFactors(org, user).length > 0
  const wantsFactor = policy !== undefined && policy.mfa !== 'never'
  if (wantsFactor && hasFactor && !transaction.mfaVerified && !isSpared(org, transaction, user, policy))
    return 'MFA_REQUIRED'
  if (!transaction.passwordHandled && user.passwordExpired) return 'PASSWORD_EXPIRED'
  if (!transaction.passwordHandled && shouldWarn(org, transaction, user)) return 'PASSWORD_WARN'
  if (wantsFactor && needsEnrollment(org, transaction, user)) return 'MFA_ENROLL'
  return 'SUCCESS'
}

function isDenied(policy: SignOnPolicy, { client }: Transaction): boolean {
  return policy.deny || policy.deniedAddresses.includes(client.address)
}

/**
 * The device is known well enough that this policy asks for no factor. Per device and per session only the device of the
 * user's last sign-in counts (authn-api.md, "Rules for deviceToken" 2): after one on another device, or on none, a factor
 * is asked for again.
 */
function isSpared(
  org: Org,
  { client: { deviceToken } }: Transaction,
  user: User,
  policy: SignOnPolicy,
): boolean {
  const device = deviceToken === undefined ? undefined : user.devices.get(deviceToken)
  if (device === undefined) return false
  const isThePrevious = deviceToken === user.lastDeviceToken
  const { mfaSessionMinutes } = org.config.lifetimes
  switch (policy.mfa) {
    case 'device':
      return isThePrevious && device.rememberedUntilMs !== undefined && device.rememberedUntilMs > org.now()
    case 'session':
      return (
        isThePrevious &&
        device.mfaAtMs !== undefined &&
        org.now() - device.mfaAtMs < mfaSessionMinutes * 60_000
      )
    case 'new-device':
      return true
    default:
      return false
  }
}

function shouldWarn(org: Org, transaction: Transaction, user: User): boolean {
  const policy = org.config.passwordPolicies[user.config.passwordPolicy]
  return (
    transaction.warnBeforePasswordExpired &&
    user.passwordExpiresInDays !== undefined &&
    policy !== undefined &&
    user.passwordExpiresInDays <= policy.warnDays
  )
}

function needsEnrollment(org: Org, transaction: Transaction, user: User): boolean {
  if (!canSkipEnrollment(org, user)) {
    if (enrollmentOffers(org, user).every((offer) => offer.factor !== undefined)) throw authenticationFailed() // a factor is demanded, and none can be set up
    return true
  }
  const optionalLeft = enrollmentOffers(org, user).some((offer) => offer.factor === undefined)
  const goOn = transaction.multiOptionalFactorEnroll && transaction.enrolledInTransaction
  return goOn && optionalLeft && !transaction.enrollmentSkipped
}

/** SUCCESS: a session token, unless it is a step-up; and what the org learns about the device. */
function finish(org: Org, transaction: Transaction, user: User, policy: SignOnPolicy | undefined): void {
  const { deviceToken } = transaction.client
  if (deviceToken !== undefined) rememberDevice(org, transaction, user, policy, deviceToken)
  user.lastDeviceToken = deviceToken
  if (transaction.autoPush) user.autoPush = true
  noticeFingerprint(org, transaction, user)
  // A step-up keeps its state token, for the redirect to the app; an unlocked account is not a sign-in.
  if (transaction.app !== undefined) return
  transaction.sessionToken = org.tokens.issueLong()
  org.sessionTokens.put(transaction.sessionToken, user)
  org.transactions.end(transaction)
}

function rememberDevice(
  org: Org,
  { mfaVerified, rememberDevice }: Transaction,
  user: User,
  policy: SignOnPolicy | undefined,
  deviceToken: string,
): void {
  const before = user.devices.get(deviceToken)
  const minutes = policy?.rememberDeviceLifetimeInMinutes ?? 0
  const until = minutes === 0 ? Number.POSITIVE_INFINITY : org.now() + minutes * 60_000
  const remembers = mfaVerified && rememberDevice && policy?.allowRememberDevice === true
  user.devices.set(deviceToken, {
    mfaAtMs: mfaVerified ? org.now() : before?.mfaAtMs,
    rememberedUntilMs: remembers ? until : before?.rememberedUntilMs,
  })
}

/** A fingerprint that no earlier sign-in of this user had: a mail, when such mails are switched on. */
function noticeFingerprint(org: Org, { client }: Transaction, user: User): void {
  if (client.fingerprint === undefined || user.fingerprints.has(client.fingerprint)) return
  user.fingerprints.add(client.fingerprint)
  if (!org.config.newDeviceMail) return
  org.outbox.send({
    kind: 'mail',
    login: user.login,
    to: user.login,
    purpose: 'new-device',
    text: 'We noticed a sign-in to your account from a new device.',
  })
}
