import { BrokerError, notAllowed } from '../errors.ts'
import type { Session } from '../session/session.ts'
import type { GroupList } from './lists/group-lists.ts'
import { combineRoles } from './roles.ts'
import { PAM_ERROR_POLICIES } from './upstream/pam-errors.ts'

/** `PAM_DIRECTORY`: no user, every signed-in user, or users with one of the roles or in one of the groups. */
export type PamDirectory =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'rules'; readonly roles: readonly string[]; readonly groups: readonly string[] }

/** `getOwn` reads the list of the user's own groups, and throws BrokerError. */
export function createDirectoryAccess(
  directory: PamDirectory,
  getOwn: (session: Session, requestId: string) => Promise<GroupList>,
) {
  /** @throws BrokerError unless this user may list the team's groups */
  return async function requireDirectoryAccess(session: Session, requestId: string): Promise<void> {
    if (directory.kind === 'all') return
    if (directory.kind === 'none') throw notAllowed('PAM_DIRECTORY: listing groups is disabled')
    const { groups } = await getOwn(session, requestId).catch(refuseUnknownUser)
    const { roles, unknownRoles } = combineRoles(groups.map((group) => group.roles))
    const granted = new Set<string>([...roles, ...unknownRoles])
    const isAllowed =
      directory.roles.some((role) => granted.has(role)) ||
      directory.groups.some((id) => groups.some((group) => group.id === id.toLowerCase()))
    if (!isAllowed) throw notAllowed('PAM_DIRECTORY: this user may not list groups')
  }
}

function refuseUnknownUser(error: unknown): never {
  if (!(error instanceof BrokerError) || error.code !== PAM_ERROR_POLICIES.unknown_user.code) throw error
  throw notAllowed('PAM_DIRECTORY: this user does not exist in the access service')
}
