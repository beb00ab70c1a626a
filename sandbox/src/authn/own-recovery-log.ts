import type { ClientContext } from './client-context.ts'
import type { Org } from './org.ts'
import type { User } from './user.ts'

/**
 * A user's own recovery is logged like an administrator's reset, but with the actor
 * SystemPrincipal: seen in a support article, which does not say whether at its start or its end
 * (A4). With an API token, it is an administrator's (R1).
 */
export function logRecoveryStart(org: Org, user: User, { trusted }: ClientContext): void {
  if (trusted) void org.sendEvent('user.account.reset_password', user, 'administrator')
  else logOwnRecovery(org, user, 'start')
}

export function logOwnRecovery(org: Org, user: User, at: Org['settings']['recoveryLoggedAt']): void {
  if (org.settings.recoveryLoggedAt === at) void org.sendEvent('user.account.reset_password', user, 'system')
}
