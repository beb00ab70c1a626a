import { isAutoPushEnabled } from './auto-push-cookie.ts'
import { FACTOR_HANDLERS } from './factors/factor-handlers.ts'
import { actionLink, type Link } from './links.ts'
import { activeFactors, enrollmentOffers, signOnPolicyOf } from './next-status.ts'
import type { Org } from './org.ts'
import { passwordPolicyOf } from './password-policy.ts'
import { presentLinks } from './present-links.ts'
import type { Status } from './statuses.ts'
import type { Transaction } from './transaction.ts'
import type { Factor, User } from './user.ts'

type Json = Record<string, unknown>
type View = { org: Org; transaction: Transaction; origin: string }

/** The Authentication Transaction object, with its members in the order of recorded responses. */
export function present(view: View): Json {
  const { transaction, org } = view
  const { status, app } = transaction
  if (status === 'LOCKED_OUT')
    // as a fixture of Okta's widget has it (S1): a link to cancel, and no state token to cancel
    // with
    return omitUndefined({
      status,
      relayState: transaction.relayState,
      _embedded: {},
      _links: presentLinks(view),
    })
  const stepUpDone = status === 'SUCCESS' && app !== undefined
  const embedded = { ...userPart(view), ...EMBEDDED[status](view), ...appPart(view) }
  return omitUndefined({
    stateToken: status !== 'SUCCESS' || stepUpDone ? transaction.stateToken : undefined,
    type: app === undefined ? undefined : 'SESSION_STEP_UP',
    expiresAt: new Date(expiryOf(org, transaction)).toISOString(),
    status,
    relayState: transaction.relayState,
    factorResult: transaction.factorResult,
    factorResultMessage: transaction.factorResult === 'FAILED' ? FAILED_MESSAGE : undefined,
    ...challengeTypePart(transaction),
    sessionToken: transaction.sessionToken,
    factorType: challengedFactorType(transaction),
    recoveryType: transaction.recoveryType,
    _embedded: Object.keys(embedded).length === 0 ? undefined : embedded,
    _links: presentLinks(view),
  })
}

const FAILED_MESSAGE = 'The identity provider did not verify you.'

/** Okta writes "SMS" in upper case and "call" in lower case. */
const RECOVERY_FACTOR_NAMES = { SMS: 'SMS', CALL: 'call' } as const

/** `_embedded` for each status, without user and app. */
const EMBEDDED: Record<Status, (view: View) => Json> = {
  SUCCESS: () => ({}),
  PASSWORD_EXPIRED: (view) => ({ policy: omitUndefined({ complexity: passwordPolicy(view)?.complexity }) }),
  PASSWORD_WARN: (view) => ({ policy: expiringPolicy(view) }),
  PASSWORD_RESET: (view) => ({
    policy: { ...expiringPolicy(view), age: { minAgeMinutes: 0, historyCount: 0 } },
  }),
  MFA_REQUIRED: (view) => ({
    ...factorTypes(view),
    [view.org.settings.factorListName]: factorsToVerify(view),
    policy: factorPolicy(view),
  }),
  MFA_CHALLENGE: (view) =>
    view.transaction.challengeByType
      ? challengeByType(view)
      : { factor: currentFactor(view, 'challengeObject'), policy: factorPolicy(view) },
  MFA_ENROLL: (view) => ({ [view.org.settings.factorListName]: factorsToEnroll(view) }),
  MFA_ENROLL_ACTIVATE: (view) => ({ factor: currentFactor(view, 'activationObject') }),
  LOCKED_OUT: () => ({}),
  RECOVERY: () => ({}),
  RECOVERY_CHALLENGE: () => ({}),
  UNAUTHENTICATED: () => ({}),
}

/** The user is shown only after authentication. */
const SHOWS_USER: Record<Status, boolean> = {
  SUCCESS: true,
  PASSWORD_EXPIRED: true,
  PASSWORD_WARN: true,
  PASSWORD_RESET: true,
  MFA_REQUIRED: true,
  MFA_CHALLENGE: true,
  MFA_ENROLL: true,
  MFA_ENROLL_ACTIVATE: true,
  LOCKED_OUT: false,
  RECOVERY: true,
  RECOVERY_CHALLENGE: false,
  UNAUTHENTICATED: false,
}

export function presentUser(user: User, withQuestion = false): Json {
  const { firstName, lastName, locale, timeZone, recoveryQuestion } = user.config
  return omitUndefined({
    id: user.id,
    passwordChanged: user.passwordChanged,
    profile: { login: user.login, firstName, lastName, locale, timeZone },
    recovery_question:
      withQuestion && recoveryQuestion !== undefined ? { question: recoveryQuestion.question } : undefined,
  })
}

function userPart({ transaction: { user, status } }: View): Json {
  if (user === undefined || !SHOWS_USER[status]) return {}
  return { user: presentUser(user, status === 'RECOVERY') }
}

function appPart({ transaction: { app }, origin }: View): Json {
  if (app === undefined) return {}
  const logo = { name: 'medium', href: `${origin}/assets/img/logos/${app.name}.png`, type: 'image/png' }
  return {
    target: { type: 'APP', name: app.name, label: app.label, _links: { logo } },
    authentication: {
      protocol: app.protocol,
      issuer: { id: app.id, name: app.label, uri: app.issuerUri },
    },
  }
}

function passwordPolicy({ org, transaction: { user } }: View) {
  return user === undefined ? undefined : passwordPolicyOf(org, user)
}

function expiringPolicy(view: View): Json {
  const days = view.transaction.user?.passwordExpiresInDays ?? 0
  return omitUndefined({
    expiration: { passwordExpireDays: days },
    complexity: passwordPolicy(view)?.complexity,
  })
}

function factorPolicy({ org, transaction: { user, client } }: View): Json {
  if (user === undefined) return {}
  const policy = signOnPolicyOf(org, user)
  const pushes = activeFactors(org, user).filter((factor) => factor.factorType === 'push')
  const autoPushEnabled = isAutoPushEnabled(client, user)
  return {
    allowRememberDevice: policy?.allowRememberDevice ?? false,
    rememberDeviceLifetimeInMinutes: policy?.rememberDeviceLifetimeInMinutes ?? 0,
    rememberDeviceByDefault: policy?.rememberDeviceByDefault ?? false,
    factorsPolicyInfo: Object.fromEntries(pushes.map((factor) => [factor.id, { autoPushEnabled }])),
  }
}

function factorsToVerify({ org, transaction, origin }: View): Json[] {
  if (transaction.user === undefined) return []
  return activeFactors(org, transaction.user).map((factor) => ({
    ...presentFactor(factor, transaction),
    _links: { verify: actionLink(origin, `/api/v1/authn/factors/${factor.id}/verify`) },
  }))
}

/**
 * All security keys of a user can be challenged at once, by their type, as recorded responses show.
 */
function factorTypes({ org, transaction: { user }, origin }: View): Json {
  if (user === undefined || securityKeys(org, user).length < 2) return {}
  const next = actionLink(origin, '/api/v1/authn/factors/webauthn/verify', 'POST', 'verify')
  return { factorTypes: [{ factorType: 'webauthn', _links: { next } }] }
}

function securityKeys(org: Org, user: User): Factor[] {
  return activeFactors(org, user).filter((factor) => factor.factorType === 'webauthn')
}

function factorsToEnroll({ org, transaction: { user }, origin }: View): Json[] {
  if (user === undefined) return []
  return enrollmentOffers(org, user).map(({ type, provider, vendorName = provider, enrollment, factor }) => {
    const links: Record<string, Link> = {}
    if (type === 'question')
      links.questions = actionLink(origin, `/api/v1/users/${user.id}/factors/questions`, 'GET')
    if (factor === undefined) links.enroll = actionLink(origin, '/api/v1/authn/factors')
    return omitUndefined({
      factorType: type,
      provider,
      vendorName,
      _links: Object.keys(links).length === 0 ? undefined : links,
      status: factor === undefined ? 'NOT_SETUP' : 'ACTIVE',
      enrollment,
    })
  })
}

/** The factor that is being verified or enrolled. */
function currentFactor(view: View, member: 'challengeObject' | 'activationObject'): Json {
  const { org, transaction, origin } = view
  const { user, factor, challenge } = transaction
  if (user === undefined || factor === undefined || challenge === undefined) return {}
  const object = FACTOR_HANDLERS[factor.factorType][member]?.({
    org,
    transaction,
    user,
    factor,
    challenge,
    origin,
  })
  const embedded = member === 'activationObject' && object !== undefined ? { activation: object } : object
  const presented = presentFactor(factor, transaction)
  if (member === 'activationObject' && HIDES_PROFILE_WHILE_ENROLLED.has(factor.factorType))
    delete presented.profile
  return omitUndefined({ ...presented, _embedded: embedded })
}

const HIDES_PROFILE_WHILE_ENROLLED: ReadonlySet<string> = new Set(['push', 'webauthn', 'u2f'])

function challengeByType(view: View): Json {
  const { org, transaction } = view
  const { user, challenge } = transaction
  if (user === undefined || challenge === undefined) return {}
  const keys = securityKeys(org, user)
  return {
    challenge: { challenge: challenge.nonce, extensions: {} },
    [org.settings.factorListName]: keys.map((factor) => presentFactor(factor, transaction)),
    policy: factorPolicy(view),
  }
}

function challengeTypePart({ status, factor, challengeByType: byType }: Transaction): Json {
  if (status !== 'MFA_CHALLENGE' || factor?.factorType !== 'webauthn') return {}
  return { challengeType: byType ? 'FACTOR_TYPE' : 'FACTOR' }
}

function challengedFactorType(transaction: Transaction): string | undefined {
  const { status, factor, challengeByType: byType, recoveryFactor } = transaction
  if (status === 'RECOVERY_CHALLENGE' && recoveryFactor !== undefined)
    return RECOVERY_FACTOR_NAMES[recoveryFactor]
  return status === 'MFA_CHALLENGE' && byType ? factor?.factorType : undefined
}

const OKTA_VERIFY_FACTORS: ReadonlySet<string> = new Set(['push', 'token:software:totp', 'signed_nonce'])

/** The profile of Okta Verify is hidden until a factor is verified. */
function presentFactor(factor: Factor, transaction: Transaction): Json {
  const isOktaVerify = factor.provider === 'OKTA' && OKTA_VERIFY_FACTORS.has(factor.factorType)
  const verified = transaction.mfaVerified || transaction.fromSession
  const enrolling = transaction.status === 'MFA_ENROLL_ACTIVATE'
  return omitUndefined({
    id: factor.id,
    factorType: factor.factorType,
    provider: factor.provider,
    vendorName: factor.config.vendorName ?? factor.provider,
    profile: isOktaVerify && !verified && !enrolling ? {} : factor.profile,
  })
}

function expiryOf(org: Org, { status, app, expiresAtMs }: Transaction): number {
  const endsWithSessionToken = status === 'SUCCESS' && app === undefined
  return endsWithSessionToken ? org.now() + org.config.lifetimes.sessionTokenMinutes * 60_000 : expiresAtMs
}

/** Removes undefined members and keeps the order of the others. */
export function omitUndefined(json: Json): Json {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined))
}
