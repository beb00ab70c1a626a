import { validationFailed } from '../authn/authn-error.ts'
import { newFactor } from '../authn/factors/factor-handlers.ts'
import type { Org } from '../authn/org.ts'
import type { User } from '../authn/user.ts'
import { factorSchema, userSchema } from '../sandbox-config.ts'
import type { NewUserBody } from './management-bodies.ts'

/** A policy that locks after few wrong passwords, and shows it. */
const PASSWORD_POLICY = 'lockout-shown'

/** @throws E0000001 if another user has the login */
export function createManagedUser(
  org: Org,
  { profile, credentials }: NewUserBody,
  isActivated: boolean,
): User {
  const { login, email, firstName, lastName, secondEmail, mobilePhone } = profile
  if (org.users.findByUsername(login) !== undefined)
    throw validationFailed('login', [
      'login: An object with this field already exists in the current organization',
    ])
  const [anyPolicy] = Object.keys(org.config.passwordPolicies)
  const config = userSchema.parse({
    login,
    firstName,
    lastName,
    email,
    ...(secondEmail ? { secondaryEmail: secondEmail } : {}),
    ...(mobilePhone ? { recoveryPhone: mobilePhone } : {}),
    ...(credentials?.password ? { password: credentials.password.value } : {}),
    ...(credentials?.recovery_question ? { recoveryQuestion: credentials.recovery_question } : {}),
    passwordPolicy: Object.hasOwn(org.config.passwordPolicies, PASSWORD_POLICY) ? PASSWORD_POLICY : anyPolicy,
    passwordChanged: new Date(org.now()).toISOString(),
    staged: !isActivated,
    activation: isActivated && credentials?.password === undefined,
    description: 'Created by the management API.',
  })
  return org.users.add(config)
}

/** The first call activates a user who has a password; others set one with the activation token. */
export function activateManagedUser(org: Org, user: User): string {
  user.config.staged = false
  user.activated = user.password !== undefined
  const token = org.tokens.issueShort()
  org.activations.put(token, user)
  return token
}

export function addManagedFactor(org: Org, user: User, body: { factorType: string; profile: object }) {
  const config = factorSchema.parse({ type: body.factorType, ...body.profile })
  const factor = newFactor(config, user, `${user.login} ${config.type} ${user.factors.length}`)
  if (!org.config.enabledFactors.includes(`${factor.factorType}:${factor.provider}`))
    throw validationFailed('factorType', ['factorType: The factor is not enabled'])
  user.factors.push(factor)
  return factor
}

/** As with Okta, whatever the user could continue with ends too. */
export function removeManagedUser(org: Org, user: User): void {
  org.recoveries.endWhere((recovery) => recovery.user === user)
  org.activations.endWhere((owner) => owner === user)
  org.sessions.endWhere((owner) => owner === user)
  for (const transaction of org.transactions.all())
    if (transaction.user === user) org.transactions.end(transaction)
  org.users.remove(user)
}
