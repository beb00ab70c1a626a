import { notAllowed } from '../errors.ts'
import type { Session } from '../session/session.ts'
import type { ServedList } from './lists/group-cache.ts'
import type { GroupList } from './lists/list-store.ts'
import { combineRoles } from './roles.ts'
import { PamFailure } from './upstream/pam-errors.ts'

/** `PAM_DIRECTORY`: no user, every signed-in user, or users with one of the roles or in one of the groups. */
export type PamDirectory =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'rules'; readonly roles: readonly string[]; readonly groups: readonly string[] }

/** Access needs a list of at most this age. Without one, the answer is 503. */
const MAX_AGE_MS = 60_000

/** Reads the user's own groups. A cached list that is older than `maxAgeMs` is not served. */
type GetOwn = (session: Session, requestId: string, maxAgeMs: number) => Promise<ServedList>

/** @throws BrokerError unless this user may list the team's groups */
export async function requireDirectoryAccess(
  directory: PamDirectory,
  session: Session,
  requestId: string,
  getOwn: GetOwn,
): Promise<void> {
  if (directory.kind === 'all') return
  if (directory.kind === 'none') throw notAllowed('PAM_DIRECTORY: listing groups is disabled')
  const { groups } = await getRecent(getOwn(session, requestId, MAX_AGE_MS))
  const { roles, unknownRoles } = combineRoles(groups.map((group) => group.roles))
  const granted = new Set<string>([...roles, ...unknownRoles])
  const isAllowed =
    directory.roles.some((role) => granted.has(role)) ||
    directory.groups.some((id) => groups.some((group) => group.id === id.toLowerCase()))
  if (!isAllowed) throw notAllowed('PAM_DIRECTORY: this user may not list groups')
}

async function getRecent(reading: Promise<ServedList>): Promise<GroupList> {
  try {
    const { list, ageMs } = await reading
    if (ageMs <= MAX_AGE_MS) return list
    throw new PamFailure('held_back', { reason: 'the read was interrupted for too long' })
  } catch (error) {
    if (!(error instanceof PamFailure)) throw error
    if (error.outcome === 'unknown_user')
      throw notAllowed('PAM_DIRECTORY: this user does not exist in the access service')
    throw error.toBrokerError(503)
  }
}
