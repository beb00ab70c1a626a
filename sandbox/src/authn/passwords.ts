import type { PasswordPolicy } from '../sandbox-config.ts'
import { passwordTooWeak, passwordTooWeakByRules, wrongOldPassword } from './authn-error.ts'
import { requireAgent } from './directory-agent.ts'
import { setNextStatus } from './next-status.ts'
import type { Org } from './org.ts'
import { logOwnRecovery } from './own-recovery-log.ts'
import { isTooYoung, passwordPolicyOf } from './password-policy.ts'
import { checkRecoveryAnswer } from './recovery-answer.ts'
import type { ChangePasswordBody, ResetPasswordBody } from './schemas.ts'
import type { Transaction } from './transaction.ts'
import type { User } from './user.ts'

/** POST /credentials/change_password, in PASSWORD_EXPIRED and PASSWORD_WARN. */
export function changePassword(
  org: Org,
  transaction: Transaction,
  user: User,
  body: ChangePasswordBody,
): void {
  requireAgent(org, user)
  requireNewPassword(org, user, body)
  if (org.settings.youngPassword !== 'allowed-if-expired' || !user.passwordExpired)
    requireMinimumAge(org, user)
  setPassword(org, transaction, user, body)
}

/** `POST /users/{id}/credentials/change_password?strict=true` of the management API. */
export function changePasswordStrictly(org: Org, user: User, body: ChangedPassword): void {
  requireNewPassword(org, user, body)
  requireMinimumAge(org, user)
  storePassword(org, user, body.newPassword)
  void org.sendEvent('user.account.update_password', user)
}

type ChangedPassword = Pick<ChangePasswordBody, 'oldPassword' | 'newPassword'>

function requireNewPassword(org: Org, user: User, { oldPassword, newPassword }: ChangedPassword): void {
  if (oldPassword !== user.password) throw wrongOldPassword(org.settings.wrongOldPassword)
  requireValidPassword(org, user, newPassword, 'change')
}

/** POST /credentials/reset_password, in PASSWORD_RESET. */
export function resetPassword(org: Org, transaction: Transaction, user: User, body: ResetPasswordBody): void {
  if (body.answer !== undefined) checkRecoveryAnswer(org, user, body.answer)
  requireAgent(org, user)
  requireValidPassword(org, user, body.newPassword, 'reset')
  user.lockedOut = false
  user.wrongPasswords = 0
  user.activated = true
  if (user.adminStatus === 'RECOVERY') user.adminStatus = undefined
  transaction.passwordReset = transaction.recoveryType === 'PASSWORD'
  setPassword(org, transaction, user, body)
}

/**
 * The user's own recovery of a forgotten password is complete: the sessions at the org end (R5).
 */
function passwordRecovered(org: Org, user: User): void {
  revokeSessions(org, user)
  logOwnRecovery(org, user, 'completion')
}

/** The requirements of the policy that the password does not meet, as sentences. */
export function unmetRequirements(
  policy: PasswordPolicy,
  password: string,
  user: Pick<User, 'login' | 'password'>,
): string[] {
  const unmet = rulesOf(policy, user)
    .filter(({ isMet }) => !isMet(password))
    .map(({ text }) => `Passwords must have ${text}`)
  return password === user.password ? [...unmet, 'Password cannot be your current password'] : unmet
}

type Rule = { text: string; isMet: (password: string) => boolean }

/** The rules of the policy that are on. */
function rulesOf({ complexity }: PasswordPolicy, user: Pick<User, 'login'>): Rule[] {
  const nameParts = user.login
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part.length >= 4)
  const atLeast = (count: number, pattern: RegExp, text: string): Rule[] =>
    count <= 0 ? [] : [{ text, isMet: (password) => (password.match(pattern)?.length ?? 0) >= count }]
  const { minLength, excludeUsername } = complexity
  const noName = (password: string) => !nameParts.some((part) => password.toLowerCase().includes(part))
  return [
    { text: `at least ${minLength} characters`, isMet: (password) => password.length >= minLength },
    ...atLeast(complexity.minLowerCase, /[a-z]/g, 'a lowercase letter'),
    ...atLeast(complexity.minUpperCase, /[A-Z]/g, 'an uppercase letter'),
    ...atLeast(complexity.minNumber, /[0-9]/g, 'a number'),
    ...atLeast(complexity.minSymbol, /[^A-Za-z0-9]/g, 'a symbol'),
    ...(excludeUsername ? [{ text: 'no parts of your username', isMet: noName }] : []),
  ]
}

const NOT_MET = 'Password requirements were not met.'

/** @throws E0000014 or E0000080, in the form of the setting `passwordRules` */
export function requireValidPassword(
  org: Org,
  user: User,
  password: string,
  operation: 'change' | 'reset',
): void {
  const policy = passwordPolicyOf(org, user)
  if (policy === undefined) return
  const unmet = unmetRequirements(policy, password, user)
  if (unmet.length === 0) return
  // Active Directory says no more than this (S4)
  if (user.config.activeDirectory !== undefined) throw passwordTooWeak(operation, [NOT_MET])
  switch (org.settings.passwordRules) {
    case 'all-rules':
      throw passwordTooWeak(operation, [allRules(policy, user)])
    case 'broken-rules':
      throw passwordTooWeakByRules(unmet)
    case 'no-causes':
      throw passwordTooWeak(operation, null)
  }
}

/**
 * All rules of the policy in one sentence, and then its minimum age, as in okta-signin-widget's
 * test of AuthenticatorUtil.
 */
function allRules(policy: PasswordPolicy, user: User): string {
  const rules = rulesOf(policy, user).map(({ text }) => text)
  const age = policy.minAgeMinutes > 0 ? ` ${minimumAge(policy)}` : ''
  return `${NOT_MET} Password requirements: ${rules.join(', ')}.${age}`
}

/** In the largest unit that is whole, as okta-signin-widget says it. */
function minimumAge({ minAgeMinutes }: PasswordPolicy): string {
  const [count, unit] =
    minAgeMinutes % DAY_MINUTES === 0
      ? [minAgeMinutes / DAY_MINUTES, 'day']
      : minAgeMinutes % 60 === 0
        ? [minAgeMinutes / 60, 'hour']
        : [minAgeMinutes, 'minute']
  return `At least ${count} ${unit}(s) must have elapsed since you last changed your password.`
}

const DAY_MINUTES = 24 * 60

/** @throws E0000014 if the password was changed a short time ago */
function requireMinimumAge(org: Org, user: User): void {
  const policy = passwordPolicyOf(org, user)
  if (policy === undefined || !isTooYoung(org, user)) return
  const { youngPassword } = org.settings
  throw passwordTooWeak('change', [
    youngPassword === 'all-rules' ? allRules(policy, user) : minimumAge(policy),
  ])
}

function setPassword(
  org: Org,
  transaction: Transaction,
  user: User,
  body: { newPassword: string; revokeSessions?: boolean | null | undefined },
): void {
  storePassword(org, user, body.newPassword)
  if (body.revokeSessions === true) revokeSessions(org, user)
  if (transaction.recoveryType === 'PASSWORD') passwordRecovered(org, user)
  // until now, the tokens could be redeemed again (R6)
  org.recoveries.endWhere((recovery) => recovery.user === user && recovery.recoveryType === 'PASSWORD')
  org.activations.endWhere((owner) => owner === user)
  void org.sendEvent('user.account.update_password', user)
  transaction.passwordHandled = true
  transaction.recoveryType = undefined
  setNextStatus(org, transaction, user)
}

function storePassword({ now }: Org, user: User, password: string): void {
  user.password = password
  user.passwordChanged = new Date(now()).toISOString()
  user.passwordExpired = false
  user.passwordBreached = false
  user.passwordExpiresInDays = undefined
}

/** Ends the user's sessions at the org and revokes unredeemed session tokens. */
export function revokeSessions(org: Org, user: User): void {
  org.sessionTokens.endWhere((issued) => issued.user === user)
  org.sessions.endWhere((owner) => owner === user)
  user.sessionsRevoked += 1
}
