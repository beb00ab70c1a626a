import { LRUCache } from 'lru-cache'
import { notFound } from '../errors.ts'
import type { Session } from '../session/session.ts'
import { createDirectoryAccess, type PamDirectory } from './directory-access.ts'
import { type DirectoryPage, type PageQuery, selectGroups } from './lists/directory-page.ts'
import type { GroupCache, LookupOptions, ServedList } from './lists/group-cache.ts'
import type { GroupList } from './lists/group-lists.ts'
import { type PamUserName, toPamUserName } from './pam-user-name.ts'
import { combineRoles } from './roles.ts'
import type { ListRef } from './upstream/group.ts'
import { PamFailure } from './upstream/pam-errors.ts'

export interface LookupResult extends Omit<ServedList, 'list'> {
  data(): Readonly<Record<string, unknown>>
  /** The same object as long as the data is the same, so that the rendered bytes can be cached with it. */
  readonly cacheKey: object
  readonly fetchedAtMs: number
}

export interface GroupsOptions {
  readonly cache: GroupCache
  readonly userName: PamUserName
  readonly directory: PamDirectory
}

/** Access to the directory needs a list of at most this age. Without one, the answer is 503. */
const DIRECTORY_MAX_AGE_MS = 60_000

export type Groups = ReturnType<typeof createGroups>

/** The lookups behind the routes. They throw `BrokerError`. */
export function createGroups(options: GroupsOptions) {
  const { cache, userName, directory } = options
  const requireAccess = createDirectoryAccess(directory, (session, requestId) =>
    getOwn(session, { requestId, maxAgeMs: DIRECTORY_MAX_AGE_MS }).then(({ served }) => served.list),
  )

  async function getOwn({ login }: Session, options: LookupOptions) {
    const user = toPamUserName(login, userName)
    if (user === undefined) throw new PamFailure('unknown_user').toBrokerError()
    return { user, served: await getList(cache, { kind: 'me', user }, options) }
  }

  async function getDirectory(session: Session, requestId: string): Promise<ServedList> {
    await requireAccess(session, requestId)
    return getList(cache, { kind: 'directory' }, { requestId })
  }

  return {
    /** The user's own groups and roles. */
    async me(session: Session, requestId: string): Promise<LookupResult> {
      const { user, served } = await getOwn(session, { requestId })
      return toResult(served, served.list, () => ({ user, ...groupsAndRoles(served.list) }))
    },

    /** A page of the team's groups. */
    async list(session: Session, query: PageQuery, requestId: string): Promise<LookupResult> {
      const served = await getDirectory(session, requestId)
      const page = getPage(served.list, query)
      return toResult(served, page, () => page)
    },

    /** One group of the team. */
    async one(session: Session, id: string, requestId: string): Promise<LookupResult> {
      const served = await getDirectory(session, requestId)
      const group = served.list.groups.find((candidate) => candidate.id === id.toLowerCase())
      if (group === undefined) throw notFound('group (Group)')
      return toResult(served, group, () => ({ ...group }))
    },
  }
}

function groupsAndRoles({ groups }: ServedList['list']) {
  return { groups, ...combineRoles(groups.map((group) => group.roles)) }
}

async function getList(cache: GroupCache, list: ListRef, options: LookupOptions): Promise<ServedList> {
  try {
    return await cache.get(list, options)
  } catch (error) {
    if (!(error instanceof PamFailure)) throw error
    const isMaxAgeError = options.maxAgeMs !== undefined && error.outcome !== 'unknown_user'
    throw isMaxAgeError ? error.toMaxAgeError() : error.toBrokerError()
  }
}

function toResult(
  { list, ageMs, stale }: ServedList,
  cacheKey: LookupResult['cacheKey'],
  data: LookupResult['data'],
): LookupResult {
  return { data, cacheKey, fetchedAtMs: list.beganAtMs, ageMs, stale }
}

const MAX_CACHED_PAGES = 50 // of one list
const pagesOf = new WeakMap<GroupList, LRUCache<string, DirectoryPage>>()

/** Caches pages, but not search results. */
function getPage(list: GroupList, query: PageQuery): DirectoryPage {
  if (query.search !== undefined) return selectGroups(list, query)
  const pages = pagesOf.get(list) ?? new LRUCache({ max: MAX_CACHED_PAGES })
  pagesOf.set(list, pages)
  const name = JSON.stringify([query.role, query.sort, query.limit, query.cursor])
  const page = pages.get(name) ?? selectGroups(list, query)
  pages.set(name, page)
  return page
}
