import { notAllowed } from '../errors.ts'
import type { Access } from '../session/forward-auth-rules.ts'
import type { Session } from '../session/session.ts'
import type { ServedList } from './lists/group-cache.ts'
import { combineRoles } from './roles.ts'
import { PamFailure } from './upstream/pam-errors.ts'

/** `PAM_DIRECTORY`: no user, every signed-in user, or users with one of the roles or in one of the groups. */
export type PamDirectory =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'rules'; readonly roles: readonly string[]; readonly groups: readonly string[] }

/** A decision about access needs a list of at most this age. Without one, the answer is 503. */
const MAX_AGE_MS = 60_000

/** Names a user of PAM. */
export type PamLogin = Pick<Session, 'login'>

/** Reads the user's own groups. A cached list that is older than `maxAgeMs` is not served. */
type GetOwn = (client: PamLogin, requestId: string, maxAgeMs: number) => Promise<ServedList>

/** @throws BrokerError unless this user may list the team's groups */
export async function requireDirectoryAccess(
  directory: PamDirectory,
  client: PamLogin,
  requestId: string,
  getOwn: GetOwn,
): Promise<void> {
  if (directory.kind === 'all') return
  if (directory.kind === 'none') throw notAllowed('PAM_DIRECTORY: listing groups is disabled')
  const access = await readAccess(client, requestId, getOwn)
  if (access === undefined) throw notAllowed('PAM_DIRECTORY: this user does not exist in the access service')
  const isAllowed =
    directory.roles.some((role) => access.roles.includes(role)) ||
    directory.groups.some((id) => access.groups.some((group) => group.id === id.toLowerCase()))
  if (!isAllowed) throw notAllowed('PAM_DIRECTORY: this user may not list groups')
}

/** The groups of a user, and every role that they give. undefined: the user is unknown. Throws BrokerError. */
export async function readAccess(
  client: PamLogin,
  requestId: string,
  getOwn: GetOwn,
): Promise<Access | undefined> {
  try {
    const { list, ageMs } = await getOwn(client, requestId, MAX_AGE_MS)
    if (ageMs > MAX_AGE_MS)
      throw new PamFailure('held_back', { reason: 'the read was interrupted for too long' })
    const { roles, unknownRoles } = combineRoles(list.groups.map((group) => group.roles))
    return { groups: list.groups, roles: [...roles, ...unknownRoles] }
  } catch (error) {
    if (!(error instanceof PamFailure)) throw error
    if (error.outcome === 'unknown_user') return undefined
    throw error.toBrokerError(503)
  }
}
