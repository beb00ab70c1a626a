import { breachedPassword } from './authn-error.ts'
import type { ClientContext } from './client-context.ts'
import { type Org, recordSignIn } from './org.ts'
import { revokeSessions } from './passwords.ts'
import type { User } from './user.ts'

/**
 * At a sign-in with a breached password, Okta expires the password, ends the user's sessions and
 * sends `user.session.clear` (A5, Okta's help on breached credentials protection). What becomes of
 * this sign-in, whether the next one does the same again, and the event's actor are unproven.
 *
 * @throws E0000259 by the setting `breachedSignIn`
 */
export function handleBreachedPassword(org: Org, user: User, client: ClientContext): void {
  const { breachedSignIn, breachDetected } = org.settings
  if (breachDetected === 'always' || !user.breachWasFound) {
    revokeSessions(org, user)
    void org.sendEvent('user.session.clear', user, 'system')
  }
  user.breachWasFound = true
  if (breachedSignIn === 'expired') user.passwordExpired = true
  if (breachedSignIn !== 'refused') return
  recordSignIn(org, client, user.login, 'E0000259')
  throw breachedPassword()
}
