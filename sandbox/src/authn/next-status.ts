import { managedPolicyOf } from '../management/managed-policies.ts'
import type { SignOnPolicy } from '../sandbox-config.ts'
import { authenticationFailed } from './authn-error.ts'
import { matchingRule } from './network-zones.ts'
import type { Org } from './org.ts'
import { passwordPolicyOf } from './password-policy.ts'
import { clearChallenge, type Transaction } from './transaction.ts'
import type { Factor, User } from './user.ts'

/**
 * Sets the next status of a transaction whose user is authenticated. A factor comes before an
 * expired password, and an enrollment comes last.
 *
 * @throws E0000004 if an administrator or the sign-on policy denies the sign-in
 */
export function setNextStatus(org: Org, transaction: Transaction, user: User): void {
  clearChallenge(transaction)
  const policy = appliedPolicy(org, transaction, user)
  if (policy?.deny === true || user.adminStatus !== undefined) throw authenticationFailed()
  transaction.status = nextStatus(org, transaction, user, policy)
  if (transaction.status === 'SUCCESS') complete(org, transaction, user, policy)
}

/** undefined if no sign-on policy is assigned. */
export function signOnPolicyOf(org: Org, user: User): SignOnPolicy | undefined {
  const managed = managedPolicyOf(org.managed, user.id, 'OKTA_SIGN_ON')
  if (managed !== undefined) return managed
  const name = user.config.signOnPolicy
  return name === null ? undefined : org.config.signOnPolicies[name]
}

/** The user's enrolled factors whose type is enabled in the org. */
export function activeFactors(org: Org, user: User): Factor[] {
  return user.factors.filter((factor) =>
    org.config.enabledFactors.includes(`${factor.factorType}:${factor.provider}`),
  )
}

/**
 * The factors that the enrollment policy offers this user, each with the enrolled factor if there
 * is one.
 */
export function enrollmentOffers(org: Org, user: User) {
  const name = user.config.enrollmentPolicy
  const offers = name === null ? [] : (org.config.enrollmentPolicies[name] ?? [])
  return offers
    .filter((offer) => org.config.enabledFactors.includes(`${offer.type}:${offer.provider}`))
    .map((offer) => ({
      ...offer,
      factor: user.factors.find(
        ({ factorType, provider }) => factorType === offer.type && provider === offer.provider,
      ),
    }))
}

/** A user can skip enrollment when all required factors and at least one factor are enrolled. */
export function canSkipEnrollment(org: Org, user: User): boolean {
  const offers = enrollmentOffers(org, user)
  const isRequiredMissing = offers.some(
    (offer) => offer.enrollment === 'REQUIRED' && offer.factor === undefined,
  )
  return !isRequiredMissing && activeFactors(org, user).length > 0
}

function nextStatus(
  org: Org,
  transaction: Transaction,
  user: User,
  policy: SignOnPolicy | undefined,
): Transaction['status'] {
  const hasFactor = activeFactors(org, user).length > 0
  const requiresFactor = policy !== undefined && policy.mfa !== 'never'
  if (requiresFactor && hasFactor && !transaction.mfaVerified && !isMfaExempt(org, transaction, user, policy))
    return 'MFA_REQUIRED'
  if (!transaction.passwordHandled && user.passwordExpired) return 'PASSWORD_EXPIRED'
  if (!transaction.passwordHandled && shouldWarn(org, transaction, user)) return 'PASSWORD_WARN'
  if (requiresFactor && needsEnrollment(org, transaction, user)) return 'MFA_ENROLL'
  return 'SUCCESS'
}

/** The user's sign-on policy, with the rule for the network zones of the client if there is one. */
function appliedPolicy(org: Org, { client }: Transaction, user: User): SignOnPolicy | undefined {
  const policy = signOnPolicyOf(org, user)
  const rule = policy && matchingRule(policy, client.zones)
  return rule === undefined || policy === undefined ? policy : { ...policy, mfa: rule.mfa, deny: rule.deny }
}

/**
 * Whether the policy requires no factor on this device. For the `device` and `session` policies,
 * only the device of the user's last sign-in is exempt (docs/conformance.md ), and only if the
 * user has chosen so with `rememberDevice` (S9).
 */
function isMfaExempt(
  org: Org,
  { client: { deviceToken } }: Transaction,
  user: User,
  policy: SignOnPolicy,
): boolean {
  const device = deviceToken === undefined ? undefined : user.devices.get(deviceToken)
  if (device === undefined) return false
  const { mfaAtMs, rememberedUntilMs = 0 } = device
  const isChosen = rememberedUntilMs > org.now() || org.settings.remembersUnasked
  const isRemembered = deviceToken === user.lastDeviceToken && isChosen
  const { mfaSessionMinutes } = org.config.lifetimes
  switch (policy.mfa) {
    case 'device':
      return isRemembered
    case 'session':
      return isRemembered && mfaAtMs !== undefined && org.now() - mfaAtMs < mfaSessionMinutes * 60_000
    case 'new-device':
      return true
    default:
      return false
  }
}

function shouldWarn(org: Org, transaction: Transaction, user: User): boolean {
  const policy = passwordPolicyOf(org, user)
  return (
    transaction.warnBeforePasswordExpired &&
    user.passwordExpiresInDays !== undefined &&
    policy !== undefined &&
    user.passwordExpiresInDays <= policy.warnDays
  )
}

function needsEnrollment(org: Org, transaction: Transaction, user: User): boolean {
  if (!canSkipEnrollment(org, user)) {
    // a factor is required, and none can be enrolled
    if (enrollmentOffers(org, user).every((offer) => offer.factor !== undefined)) throw authenticationFailed()
    return true
  }
  const isOptionalMissing = enrollmentOffers(org, user).some((offer) => offer.factor === undefined)
  const { multiOptionalFactorEnroll, enrolledInTransaction, passwordReset } = transaction
  // S10: after a reset too
  const offersMore = multiOptionalFactorEnroll && (enrolledInTransaction || passwordReset)
  return offersMore && isOptionalMissing && !transaction.enrollmentSkipped
}

/** SUCCESS: records the device, and issues a session token unless the transaction is a step-up. */
function complete(org: Org, transaction: Transaction, user: User, policy: SignOnPolicy | undefined): void {
  const { deviceToken } = transaction.client
  if (deviceToken !== undefined) rememberDevice(org, transaction, user, policy, deviceToken)
  user.lastDeviceToken = deviceToken
  notifyNewDevice(org, transaction, user)
  // A step-up keeps its state token for the redirect to the app.
  if (transaction.app !== undefined) return
  transaction.sessionToken = org.tokens.issueLong()
  org.sessionTokens.put(transaction.sessionToken, { user, pipeline: org.settings.pipeline })
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
  const isRemembered = mfaVerified && rememberDevice && policy?.allowRememberDevice === true
  user.devices.set(deviceToken, {
    mfaAtMs: mfaVerified ? org.now() : before?.mfaAtMs,
    rememberedUntilMs: isRemembered ? until : before?.rememberedUntilMs,
  })
}

/**
 * Sends a new-device email, if enabled, for a fingerprint that no earlier sign-in of this user had.
 */
function notifyNewDevice(org: Org, { client }: Transaction, user: User): void {
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
