import { agentTimedOut, authenticationFailed, noAgentConnected } from './authn-error.ts'
import type { Org } from './org.ts'
import type { User } from './user.ts'

/**
 * For a user of Active Directory, an agent beside the directory checks and changes the password
 * (S4). One that needs more than four seconds looks like a wrong password. The sandbox does not
 * wait for them.
 */
export function requireAgent({ settings: { directoryAgent } }: Org, user: User): void {
  if (user.config.activeDirectory === undefined) return
  switch (directoryAgent) {
    case 'connected':
      return
    case 'slow':
      throw authenticationFailed()
    case 'timed-out':
      throw agentTimedOut()
    case 'disconnected':
      throw noAgentConnected()
  }
}
