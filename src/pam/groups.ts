import { notFound } from '../errors.ts'
import { type PamDirectory, type PamLogin, readAccess, requireDirectoryAccess } from './directory-access.ts'
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
  async function getOwn({ login }: PamLogin, requestId: string, maxAgeMs?: number) {
    const user = toPamUserName(login, userName)
    if (user === undefined) throw new PamFailure('unknown_user')
    return { user, ...(await cache.get({ kind: 'me', user }, requestId, maxAgeMs)) }
  }

  async function getDirectory(client: PamLogin, requestId: string): Promise<ServedList> {
    await requireDirectoryAccess(directory, client, requestId, getOwn)
    return cache.get({ kind: 'directory' }, requestId).catch(refuse)
  }

  return {
    /** For a decision about access. undefined: the user is unknown. */
    readAccess: (client: PamLogin, requestId: string) => readAccess(client, requestId, getOwn),

    /** The groups and roles of a user. */
    async me(client: PamLogin, requestId: string): Promise<LookupResult> {
      const served = await getOwn(client, requestId).catch(refuse)
      const { user, list } = served
      const { groups } = list
      const data = () => ({ user, groups, ...combineRoles(groups.map((group) => group.roles)) })
      return { served, name: 'me', data }
    },

    /** A page of the team's groups. */
    async list(client: PamLogin, requestId: string, query: PageQuery): Promise<LookupResult> {
      const served = await getDirectory(client, requestId)
      return { served, name: JSON.stringify(query), data: () => selectGroups(served.list, query) }
    },

    /** One group of the team. */
    async one(client: PamLogin, requestId: string, id: string): Promise<LookupResult> {
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
