import { LRUCache } from 'lru-cache'
import { notFound } from '../errors.ts'
import type { Session } from '../session/session.ts'
import { createDirectoryAccess, type PamDirectory } from './directory-access.ts'
import type { FindAttributes, FoundAttributes } from './group-attributes.ts'
import { type DirectoryPage, type PageQuery, selectGroups } from './lists/directory-page.ts'
import type { GroupCache, LookupOptions, ServedList } from './lists/group-cache.ts'
import type { GroupList } from './lists/list-records.ts'
import { memoize } from './lists/memoize.ts'
import { type PamUserName, toPamUserName } from './pam-user-name.ts'
import { combineRoles } from './roles.ts'
import type { ListRef } from './upstream/group.ts'
import { PamFailure } from './upstream/pam-errors.ts'

export interface LookupResult extends Omit<ServedList, 'list'> {
  data(): Readonly<Record<string, unknown>>
  /** The same object as long as the data is the same, so that the rendered bytes can be cached with it; undefined: do not cache. */
  readonly cacheKey: object | undefined
  readonly fetchedAtMs: number
}

export interface GroupsOptions {
  readonly cache: GroupCache
  readonly userName: PamUserName
  readonly directory: PamDirectory
  /** Access to the directory needs a list of at most this age. Without one, the answer is 503. */
  readonly directoryMaxAgeMs: number
  readonly attributes: FindAttributes
}

export type Groups = ReturnType<typeof createGroups>

/** The lookups behind the routes. They throw `BrokerError`. */
export function createGroups(options: GroupsOptions) {
  const { cache, userName, directory, directoryMaxAgeMs, attributes } = options
  const requireAccess = createDirectoryAccess(directory, (session, requestId) =>
    getOwn(session, { requestId, maxAgeMs: directoryMaxAgeMs }).then(({ served }) => served.list),
  )

  async function getOwn({ login }: Session, options: LookupOptions) {
    const user = toPamUserName(login, userName)
    if (user === undefined) throw new PamFailure('unknown_user').toBrokerError()
    return { user, served: await getList(cache, { kind: 'me', user }, options) }
  }

  async function getDirectory(session: Session, options: LookupOptions): Promise<ServedList> {
    await requireAccess(session, options.requestId)
    return getList(cache, { kind: 'directory' }, options)
  }

  return {
    /** The user's own groups and roles. */
    async me(session: Session, options: LookupOptions): Promise<LookupResult> {
      const { user, served } = await getOwn(session, options)
      return toResult(served, served.list, () => ({ user, ...groupsAndRoles(served.list) }))
    },

    /** A page of the team's groups. */
    async list(session: Session, query: PageQuery, options: LookupOptions): Promise<LookupResult> {
      const served = await getDirectory(session, options)
      const page = getPage(served.list, query)
      return toResult(served, page, () => page)
    },

    /** One group of the team. */
    async one(session: Session, id: string, options: LookupOptions): Promise<LookupResult> {
      const served = await getDirectory(session, options)
      const group = served.list.groups.find((candidate) => candidate.id === id.toLowerCase())
      if (group === undefined) throw notFound('group (Group)')
      const found = await attributes(group, options)
      const result = toResult(served, undefined, () => ({ ...group, ...found?.attributes }))
      return found === undefined ? result : asOldAs(found, result)
    },
  }
}

function groupsAndRoles({ groups, isDisabled }: ServedList['list']) {
  const roles = groups.map((group) => group.roles)
  return { groups, ...combineRoles(roles, isDisabled) }
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
  return { data, cacheKey, fetchedAtMs: list.fetchedAtMs, ageMs, stale }
}

/** The older of the two decides how old the data is. */
function asOldAs({ ageMs, fetchedAtMs, stale }: FoundAttributes, result: LookupResult): LookupResult {
  return {
    ...result,
    ageMs: Math.max(ageMs, result.ageMs),
    fetchedAtMs: Math.min(fetchedAtMs, result.fetchedAtMs),
    stale: stale || result.stale,
  }
}

const MAX_CACHED_PAGES = 50 // of one list
const pagesOf = memoize((_list: GroupList) => new LRUCache<string, DirectoryPage>({ max: MAX_CACHED_PAGES }))

/** Caches pages, but not search results. */
function getPage(list: GroupList, query: PageQuery): DirectoryPage {
  if (query.search !== undefined) return selectGroups(list, query)
  const pages = pagesOf(list)
  const name = JSON.stringify([query.role, query.sort, query.limit, query.cursor])
  const page = pages.get(name) ?? selectGroups(list, query)
  pages.set(name, page)
  return page
}
