import { notAllowed } from '../errors.ts'
import type { Access } from '../forward-auth/forward-auth-rules.ts'

/**
 * `PAM_DIRECTORY`: no user, every signed-in user, or users with one of the roles or in one of the
 * groups.
 */
export type PamDirectory =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'rules'; readonly roles: readonly string[]; readonly groups: readonly string[] }

/**
 * `readAccess`: undefined if PAM does not know the user.
 *
 * @throws BrokerError unless this user may list the team's groups
 */
export async function requireDirectoryAccess(
  directory: PamDirectory,
  readAccess: () => Promise<Access | undefined>,
): Promise<void> {
  if (directory.kind === 'all') return
  if (directory.kind === 'none') throw notAllowed('PAM_DIRECTORY: listing groups is disabled')
  const access = await readAccess()
  if (access === undefined) throw notAllowed('PAM_DIRECTORY: this user does not exist in the access service')
  const isAllowed =
    directory.roles.some((role) => access.roles.includes(role)) ||
    directory.groups.some((id) => access.groups.some((group) => group.id === id.toLowerCase()))
  if (!isAllowed) throw notAllowed('PAM_DIRECTORY: this user may not list groups')
}
