import { managedPolicyOf } from '../management/managed-policies.ts'
import type { PasswordPolicy } from '../sandbox-config.ts'
import type { Org } from './org.ts'
import type { User } from './user.ts'

/** One that an administrator created for a group of the user, or the one of the configuration. */
export function passwordPolicyOf(org: Org, user: User): PasswordPolicy | undefined {
  const managed = managedPolicyOf(org.managed, user.id, 'PASSWORD')
  return managed ?? org.config.passwordPolicies[user.config.passwordPolicy]
}

/** Whether the policy does not let the user change the password yet. */
export function isTooYoung(org: Org, user: User): boolean {
  const { minAgeMinutes = 0 } = passwordPolicyOf(org, user) ?? {}
  return org.now() - Date.parse(user.passwordChanged) < minAgeMinutes * 60_000
}
