import type { PasswordPolicy } from '../sandbox-config.ts'
import { advance } from './advance.ts'
import { oldPasswordWrong, passwordTooWeak, wrongAnswer } from './authn-error.ts'
import type { ChangePasswordBody, ResetPasswordBody } from './bodies.ts'
import { sameAnswer } from './factors/question-factor.ts'
import type { Person } from './person.ts'
import type { Transaction } from './transaction.ts'
import type { World } from './world.ts'

/** POST /credentials/change_password, in PASSWORD_EXPIRED and PASSWORD_WARN. */
export function changePassword(
  world: World,
  transaction: Transaction,
  person: Person,
  body: ChangePasswordBody,
): void {
  if (body.oldPassword !== person.password) throw oldPasswordWrong()
  requireGoodPassword(world, person, body.newPassword)
  setPassword(world, transaction, person, body)
}

/** POST /credentials/reset_password, in PASSWORD_RESET. */
export function resetPassword(
  world: World,
  transaction: Transaction,
  person: Person,
  body: ResetPasswordBody,
): void {
  if (body.answer !== undefined && !sameAnswer(body.answer, person.config.recoveryQuestion?.answer))
    throw wrongAnswer()
  requireGoodPassword(world, person, body.newPassword)
  person.lockedOut = false
  person.wrongPasswords = 0
  person.activated = true
  setPassword(world, transaction, person, body)
}

/** What the policy demands and this password lacks, one sentence each. */
export function unmetRequirements(
  policy: PasswordPolicy,
  password: string,
  person: Pick<Person, 'login' | 'password'>,
): string[] {
  const { complexity } = policy
  const count = (pattern: RegExp) => password.match(pattern)?.length ?? 0
  const lower = password.toLowerCase()
  const nameParts = person.login
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
  return password === person.password ? [...unmet, 'Password cannot be your current password'] : unmet
}

function requireGoodPassword(world: World, person: Person, password: string): void {
  const policy = world.config.passwordPolicies[person.config.passwordPolicy]
  const unmet = policy === undefined ? [] : unmetRequirements(policy, password, person)
  if (unmet.length > 0) throw passwordTooWeak(unmet)
}

function setPassword(
  world: World,
  transaction: Transaction,
  person: Person,
  body: { newPassword: string; revokeSessions?: boolean | null | undefined },
): void {
  person.password = body.newPassword
  person.passwordChanged = new Date(world.now()).toISOString()
  person.passwordExpired = false
  person.passwordExpiresInDays = undefined
  if (body.revokeSessions === true) revokeSessions(world, person)
  transaction.passwordDone = true
  transaction.recoveryType = undefined
  advance(world, transaction, person)
}

/** Ends the person's sessions at the org, and the session tokens that nobody has exchanged yet. */
function revokeSessions(world: World, person: Person): void {
  world.sessionTokens.drop((owner) => owner === person)
  world.sessions.drop((owner) => owner === person)
  person.sessionsRevoked += 1
}
