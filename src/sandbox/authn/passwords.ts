import type { PasswordPolicy } from '../sandbox-config.ts'
import { passwordTooWeak, wrongOldPassword, wrongRecoveryAnswer } from './authn-error.ts'
import { answersMatch } from './factors/question-factor.ts'
import { setNextStatus } from './next-status.ts'
import type { Org } from './org.ts'
import { logOwnRecovery } from './own-recovery-log.ts'
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
  if (body.oldPassword !== user.password) throw wrongOldPassword(org.settings.wrongOldPassword)
  requireValidPassword(org, user, body.newPassword)
  setPassword(org, transaction, user, body)
}

/** POST /credentials/reset_password, in PASSWORD_RESET. */
export function resetPassword(org: Org, transaction: Transaction, user: User, body: ResetPasswordBody): void {
  if (body.answer !== undefined && !answersMatch(body.answer, user.config.recoveryQuestion?.answer))
    throw wrongRecoveryAnswer()
  requireValidPassword(org, user, body.newPassword)
  user.lockedOut = false
  user.wrongPasswords = 0
  user.activated = true
  if (user.adminStatus === 'RECOVERY') user.adminStatus = undefined
  transaction.passwordReset = transaction.recoveryType === 'PASSWORD'
  setPassword(org, transaction, user, body)
}

/** The requirements of the policy that the password does not meet, as sentences. */
export function unmetRequirements(
  policy: PasswordPolicy,
  password: string,
  user: Pick<User, 'login' | 'password'>,
): string[] {
  const { complexity } = policy
  const count = (pattern: RegExp) => password.match(pattern)?.length ?? 0
  const lower = password.toLowerCase()
  const nameParts = user.login
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part.length >= 4)
  const rules: [boolean, string][] = [
    [password.length >= complexity.minLength, `at least ${complexity.minLength} characters`],
    [count(/[a-z]/g) >= complexity.minLowerCase, 'a lowercase letter'],
    [count(/[A-Z]/g) >= complexity.minUpperCase, 'an uppercase letter'],
    [count(/[0-9]/g) >= complexity.minNumber, 'a number'],
    [count(/[^A-Za-z0-9]/g) >= complexity.minSymbol, 'a symbol'],
    [
      !complexity.excludeUsername || !nameParts.some((part) => lower.includes(part)),
      'no parts of your username',
    ],
  ]
  const unmet = rules.filter(([met]) => !met).map(([, rule]) => `Passwords must have ${rule}`)
  return password === user.password ? [...unmet, 'Password cannot be your current password'] : unmet
}

function requireValidPassword(org: Org, user: User, password: string): void {
  const policy = org.config.passwordPolicies[user.config.passwordPolicy]
  const unmet = policy === undefined ? [] : unmetRequirements(policy, password, user)
  if (unmet.length > 0) throw passwordTooWeak(unmet)
}

function setPassword(
  org: Org,
  transaction: Transaction,
  user: User,
  body: { newPassword: string; revokeSessions?: boolean | null | undefined },
): void {
  user.password = body.newPassword
  user.passwordChanged = new Date(org.now()).toISOString()
  user.passwordExpired = false
  user.passwordBreached = false
  user.passwordExpiresInDays = undefined
  if (body.revokeSessions === true) revokeSessions(org, user)
  if (transaction.recoveryType === 'PASSWORD') logOwnRecovery(org, user, 'completion')
  void org.sendEvent('user.account.update_password', user)
  transaction.passwordHandled = true
  transaction.recoveryType = undefined
  setNextStatus(org, transaction, user)
}

/** Ends the user's sessions at the org and revokes unredeemed session tokens. */
export function revokeSessions(org: Org, user: User): void {
  org.sessionTokens.deleteWhere((issued) => issued.user === user)
  org.sessions.deleteWhere((owner) => owner === user)
  user.sessionsRevoked += 1
}
