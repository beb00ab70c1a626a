import { validationFailed } from '../authn-error.ts'
import { requireValidPassword } from '../passwords.ts'
import { type FactorHandler, type FactorStep, type Outcome, WRONG_PASSWORD } from './factor-handler.ts'

/**
 * The user's password as a factor: `password` verifies it, `profile.password` sets a new one at
 * enrollment.
 */
export const password: FactorHandler = {
  idPrefix: () => 'pwd',
  profile: () => ({}),
  enroll(body) {
    if (typeof body.profile?.password !== 'string' || body.profile.password === '')
      throw validationFailed('factorEnrollRequest', ['profile.password: The field cannot be left blank'])
    return {}
  },
  immediate: true,
  begin: () => {},
  hasAnswer: (body) => body.password !== undefined,
  check: (step) => (step.transaction.status === 'MFA_ENROLL' ? setPassword(step) : checkPassword(step)),
  poll: () => ({ kind: 'waiting' }),
}

function checkPassword({ user, body }: FactorStep): Outcome {
  return body.password === user.password ? { kind: 'verified' } : { kind: 'wrong', cause: WRONG_PASSWORD }
}

function setPassword({ org, user, body }: FactorStep): Outcome {
  const newPassword = String(body.profile?.password)
  requireValidPassword(org, user, newPassword, 'change')
  user.password = newPassword
  return { kind: 'verified' }
}
