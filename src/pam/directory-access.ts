import { notAllowed } from '../errors.ts'
import type { Session } from '../session/session.ts'
import type { GroupCache } from './lists/group-cache.ts'
import type { GroupList } from './lists/list-records.ts'
import { type PamUserName, toPamUserName } from './pam-user-name.ts'
import { combineRoles } from './roles.ts'
import { PamFailure } from './upstream/pam-errors.ts'

/** `PAM_DIRECTORY`: no user, every signed-in user, or users with one of the roles or in one of the groups. */
export type PamDirectory =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'rules'; readonly roles: readonly string[]; readonly groups: readonly string[] }

/** @throws BrokerError unless this user may list the team's groups */
export type DirectoryAccess = (session: Session, requestId: string) => Promise<void>

export interface DirectoryAccessOptions {
  readonly cache: GroupCache
  readonly userName: PamUserName
  readonly directory: PamDirectory
  /** The decision needs a list of at most this age. Without one, the answer is 503. */
  readonly maxAgeMs: number
}

export function createDirectoryAccess(options: DirectoryAccessOptions): DirectoryAccess {
  const { cache, userName, directory, maxAgeMs } = options

  return async function requireDirectoryAccess(session, requestId) {
    if (directory.kind === 'all') return
    if (directory.kind === 'none') throw notAllowed('PAM_DIRECTORY: listing groups is disabled')
    const { groups, isDisabled } = await fetchList(session, requestId)
    const rolesOfGroups = groups.map((group) => group.roles)
    const { roles, unknownRoles } = combineRoles(rolesOfGroups, isDisabled)
    const granted = new Set<string>([...roles, ...unknownRoles])
    const isAllowed =
      directory.roles.some((role) => granted.has(role)) ||
      directory.groups.some((id) => groups.some((group) => group.id === id.toLowerCase()))
    if (!isAllowed) throw notAllowed('PAM_DIRECTORY: this user may not list groups')
  }

  async function fetchList({ login }: Session, requestId: string): Promise<GroupList> {
    const user = toPamUserName(login, userName)
    if (user === undefined) throw userUnknown()
    try {
      return (await cache.get({ kind: 'me', user }, { requestId, maxAgeMs })).list
    } catch (error) {
      if (!(error instanceof PamFailure)) throw error
      throw error.outcome === 'unknown_user' ? userUnknown() : error.toMaxAgeError()
    }
  }
}

const userUnknown = () => notAllowed('PAM_DIRECTORY: this user does not exist in the access service')
