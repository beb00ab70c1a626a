import { notFound } from '../errors.ts'
import type { Access } from '../forward-auth/forward-auth-rules.ts'
import type { Session } from '../session/session.ts'
import { type PamDirectory, requireDirectoryAccess } from './directory-access.ts'
import { type PageQuery, selectGroups } from './lists/directory-page.ts'
import type { GroupCache, ServedList } from './lists/group-cache.ts'
import { type PamUserName, toPamUserName } from './pam-user-name.ts'
import type { LookupResult } from './present-lookup.ts'
import { PamFailure } from './upstream/pam-errors.ts'

/** Names a user of PAM. */
export type PamLogin = Pick<Session, 'login'>

export interface GroupsOptions {
  readonly cache: GroupCache
  readonly userName: PamUserName
  readonly directory: PamDirectory
}

export type Groups = ReturnType<typeof createGroups>

/** A decision about access needs a list of at most this age. Without one, the answer is 503. */
const MAX_AGE_MS = 60_000

/** The lookups behind the routes. They throw `BrokerError`. */
export function createGroups({ cache, userName, directory }: GroupsOptions) {
  async function getOwn({ login }: PamLogin, requestId: string, maxAgeMs?: number) {
    const user = toPamUserName(login, userName)
    if (user === undefined) throw new PamFailure('unknown_user')
    return { user, ...(await cache.get({ kind: 'me', user }, requestId, maxAgeMs)) }
  }

  /** For a decision about access. */
  const readAccess = (client: PamLogin, requestId: string) => toAccess(getOwn(client, requestId, MAX_AGE_MS))

  async function getDirectory(client: PamLogin, requestId: string): Promise<ServedList> {
    await requireDirectoryAccess(directory, () => readAccess(client, requestId))
    return cache.get({ kind: 'directory' }, requestId).catch(refuse)
  }

  return {
    readAccess,

    /** The groups and roles of a user. */
    async me(client: PamLogin, requestId: string): Promise<LookupResult> {
      const served = await getOwn(client, requestId).catch(refuse)
      const { user, list } = served
      const { groups, roles, maximalRoles, unknownRoles } = list
      return { served, name: 'me', data: () => ({ user, groups, roles, maximalRoles, unknownRoles }) }
    },

    /** A page of the team's groups. */
    async list(client: PamLogin, requestId: string, query: PageQuery): Promise<LookupResult> {
      const served = await getDirectory(client, requestId)
      return { served, name: JSON.stringify(query), data: () => selectGroups(served.list, query) }
    },

    /** One group of the team. */
    async group(client: PamLogin, requestId: string, id: string): Promise<LookupResult> {
      const served = await getDirectory(client, requestId)
      const group = served.list.groups.find((candidate) => candidate.id === id.toLowerCase())
      if (group === undefined) throw notFound('group (Group)')
      return { served, name: group.id, data: () => group }
    },
  }
}

function refuse(error: unknown): never {
  throw error instanceof PamFailure ? error.toBrokerError() : error
}

/** The groups of a user, and every role that they give. undefined: the user is unknown. */
async function toAccess(reading: Promise<ServedList>): Promise<Access | undefined> {
  try {
    const { list, ageMs } = await reading
    if (ageMs > MAX_AGE_MS)
      throw new PamFailure('held_back', { reason: 'the read was interrupted for too long' })
    return { groups: list.groups, roles: [...list.roles, ...list.unknownRoles] }
  } catch (error) {
    if (!(error instanceof PamFailure)) throw error
    if (error.outcome === 'unknown_user') return undefined
    throw error.toBrokerError(503)
  }
}
