import { LRUCache } from 'lru-cache'
import { notFound } from '../errors.ts'
import type { Session } from '../session/session.ts'
import type { DirectoryAccess } from './directory-access.ts'
import { type DirectoryPage, type PageQuery, selectGroups } from './lists/directory-page.ts'
import type { GroupCache, ServedList } from './lists/group-cache.ts'
import type { KnownList } from './lists/list-records.ts'
import { memoize } from './lists/memoize.ts'
import { type PamUserName, pamUserOf } from './pam-user.ts'
import { combineRoles } from './roles.ts'
import type { ListOf } from './upstream/group.ts'
import { PamFailure } from './upstream/pam-errors.ts'

/** The answer to a lookup, and how old it is. */
export interface Shown {
  data(): Readonly<Record<string, unknown>>
  /** The same object as long as the data are the same, so that their bytes can be kept with it; undefined: not worth keeping. */
  readonly kept: object | undefined
  readonly fetchedAtMs: number
  readonly ageMs: number
  readonly stale: boolean
}

/** One request for data. */
export interface Lookup {
  readonly requestId: string
  /** If there are no newer data, the answer is 503. undefined: as old as the configuration allows. */
  readonly maxAgeMs: number | undefined
}

/** The lookups behind the routes, each for one request. Throw `BrokerError`. */
export interface Groups {
  me(session: Session, lookup: Lookup): Promise<Shown>
  list(session: Session, query: PageQuery, lookup: Lookup): Promise<Shown>
  one(session: Session, id: string, lookup: Lookup): Promise<Shown>
}

export interface GroupsOptions {
  readonly cache: GroupCache
  readonly userName: PamUserName
  readonly access: DirectoryAccess
}

export function createGroups({ cache, userName, access }: GroupsOptions): Groups {
  async function lookUp(list: ListOf, { requestId, maxAgeMs }: Lookup): Promise<ServedList> {
    try {
      return await cache.get(list, { requestId, maxAgeMs })
    } catch (error) {
      if (!(error instanceof PamFailure)) throw error
      const isAboutAge = maxAgeMs !== undefined && error.outcome !== 'unknown_person'
      throw isAboutAge ? error.toNotRecent() : error.toBrokerError()
    }
  }

  async function directory(session: Session, lookup: Lookup): Promise<ServedList> {
    await access(session, lookup.requestId)
    return lookUp({ kind: 'directory' }, lookup)
  }

  return {
    async me({ login }, lookup) {
      const user = pamUserOf(login, userName)
      if (user === undefined) throw new PamFailure('unknown_person').toBrokerError()
      const served = await lookUp({ kind: 'me', user }, lookup)
      return shown(served, served.list, () => {
        const { groups } = served.list
        return { user, groups, ...combineRoles(groups.map(({ roles }) => roles)) }
      })
    },

    async list(session, query, lookup) {
      const served = await directory(session, lookup)
      const page = pageOf(served.list, query)
      return shown(served, page, () => page)
    },

    async one(session, id, lookup) {
      const served = await directory(session, lookup)
      const group = served.list.groups.find((candidate) => candidate.id === id.toLowerCase())
      if (group === undefined) throw notFound('group (Group)')
      return shown(served, undefined, () => ({ ...group }))
    },
  }
}

function shown({ list, ageMs, stale }: ServedList, kept: Shown['kept'], data: Shown['data']): Shown {
  return { data, kept, fetchedAtMs: list.fetchedAtMs, ageMs, stale }
}

/** Of one list. */
const MAX_PAGES_KEPT = 50
const pagesOf = memoize((_list: KnownList) => new LRUCache<string, DirectoryPage>({ max: MAX_PAGES_KEPT }))

/** Pages that users turn are kept; search results are not. */
function pageOf(list: KnownList, query: PageQuery): DirectoryPage {
  if (query.search !== undefined) return selectGroups(list, query)
  const pages = pagesOf(list)
  const name = JSON.stringify([query.role, query.sort, query.limit, query.cursor])
  const page = pages.get(name) ?? selectGroups(list, query)
  pages.set(name, page)
  return page
}
