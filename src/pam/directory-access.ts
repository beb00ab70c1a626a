import { notAllowed } from '../errors.ts'
import type { Session } from '../session/session.ts'
import type { GroupCache } from './lists/group-cache.ts'
import { type PamUserName, pamUserOf } from './pam-user.ts'
import { combineRoles } from './roles.ts'
import type { Group } from './upstream/group.ts'
import { PamFailure } from './upstream/pam-errors.ts'

/** `PAM_DIRECTORY`: nobody, every signed-in user, or users with one of the roles or in one of the groups. */
export type PamDirectory =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'rules'; readonly roles: readonly string[]; readonly groups: readonly string[] }

/** Throws `BrokerError` unless this user may see the team's groups. */
export type DirectoryAccess = (session: Session, requestId: string) => Promise<void>

export interface DirectoryAccessOptions {
  readonly cache: GroupCache
  readonly userName: PamUserName
  readonly directory: PamDirectory
  /** An older response decides nothing; without a newer one, the answer is 503. */
  readonly maxAgeMs: number
}

export function createDirectoryAccess(options: DirectoryAccessOptions): DirectoryAccess {
  const { cache, userName, directory, maxAgeMs } = options

  return async function requireDirectoryAccess(session, requestId) {
    if (directory.kind === 'all') return
    if (directory.kind === 'none') throw notAllowed('PAM_DIRECTORY: nobody may list groups')
    const groups = await groupsOf(session, requestId)
    const { roles, unknownRoles } = combineRoles(groups.map((group) => group.roles))
    const held = new Set<string>([...roles, ...unknownRoles])
    const isAllowed =
      directory.roles.some((role) => held.has(role)) ||
      directory.groups.some((id) => groups.some((group) => group.id === id.toLowerCase()))
    if (!isAllowed) throw notAllowed('PAM_DIRECTORY: this person may not list groups')
  }

  async function groupsOf({ login }: Session, requestId: string): Promise<readonly Group[]> {
    const user = pamUserOf(login, userName)
    if (user === undefined) throw userUnknown()
    try {
      return (await cache.get({ kind: 'me', user }, { requestId, maxAgeMs })).list.groups
    } catch (error) {
      if (!(error instanceof PamFailure)) throw error
      throw error.outcome === 'unknown_person' ? userUnknown() : error.toNotRecent()
    }
  }
}

const userUnknown = () => notAllowed('PAM_DIRECTORY: this person is not known to the access service')
