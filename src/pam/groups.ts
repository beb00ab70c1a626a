import { notFound } from '../errors.ts'
import type { Session } from '../session/session.ts'
import { type PamDirectory, readAccess, requireDirectoryAccess } from './directory-access.ts'
import { type PageQuery, selectGroups } from './lists/directory-page.ts'
import type { GroupCache, ServedList } from './lists/group-cache.ts'
import { type PamUserName, toPamUserName } from './pam-user-name.ts'
import type { LookupResult } from './present-lookup.ts'
import { combineRoles } from './roles.ts'
import { PamFailure } from './upstream/pam-errors.ts'

export interface GroupsOptions {
  readonly cache: GroupCache
  readonly userName: PamUserName
  readonly directory: PamDirectory
}

export type Groups = ReturnType<typeof createGroups>

/** The lookups behind the routes. They throw `BrokerError`. */
export function createGroups({ cache, userName, directory }: GroupsOptions) {
  async function getOwn({ login }: Session, requestId: string, maxAgeMs?: number) {
    const user = toPamUserName(login, userName)
    if (user === undefined) throw new PamFailure('unknown_user')
    return { user, ...(await cache.get({ kind: 'me', user }, requestId, maxAgeMs)) }
  }

  async function getDirectory(session: Session, requestId: string): Promise<ServedList> {
    await requireDirectoryAccess(directory, session, requestId, getOwn)
    return cache.get({ kind: 'directory' }, requestId).catch(refuse)
  }

  return {
    /** For a decision about access. undefined: the user is unknown. */
    readAccess: (session: Session, requestId: string) => readAccess(session, requestId, getOwn),

    /** The user's own groups and roles. */
    async me(session: Session, requestId: string): Promise<LookupResult> {
      const served = await getOwn(session, requestId).catch(refuse)
      const { user, list } = served
      const { groups } = list
      const data = () => ({ user, groups, ...combineRoles(groups.map((group) => group.roles)) })
      return { served, name: 'me', data }
    },

    /** A page of the team's groups. */
    async list(session: Session, requestId: string, query: PageQuery): Promise<LookupResult> {
      const served = await getDirectory(session, requestId)
      return { served, name: JSON.stringify(query), data: () => selectGroups(served.list, query) }
    },

    /** One group of the team. */
    async one(session: Session, requestId: string, id: string): Promise<LookupResult> {
      const served = await getDirectory(session, requestId)
      const group = served.list.groups.find((candidate) => candidate.id === id.toLowerCase())
      if (group === undefined) throw notFound('group (Group)')
      return { served, name: group.id, data: () => group }
    },
  }
}

function refuse(error: unknown): never {
  throw error instanceof PamFailure ? error.toBrokerError() : error
}
