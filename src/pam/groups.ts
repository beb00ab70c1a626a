import { notAllowed, notFound, pamError } from '../errors.ts'
import type { Session } from '../session/session.ts'
import { type DirectoryPage, type PageQuery, selectGroups } from './lists/directory-page.ts'
import type { GroupCache, ServedList } from './lists/group-cache.ts'
import type { KnownList } from './lists/group-lists.ts'
import { type PamUserName, pamUserOf } from './pam-user.ts'
import { combineRoles } from './roles.ts'
import type { Group, ListOf } from './upstream/group.ts'
import { PamFailure } from './upstream/pam-errors.ts'

/** Who may list the team's groups: nobody, every signed-in person, or who has one of the roles or groups. */
export type PamDirectory =
  | { readonly kind: 'none' }
  | { readonly kind: 'all' }
  | { readonly kind: 'rules'; readonly roles: readonly string[]; readonly groups: readonly string[] }

/** Of one list. */
const MAX_PAGES_KEPT = 50

/** What is shown, and how old it is. */
export interface Shown {
  readonly data: Readonly<Record<string, unknown>>
  readonly fetchedAtMs: number
  readonly ageMs: number
  readonly stale: boolean
  /** The same object as long as `data` says the same, to keep beside it what is made of it; undefined: not worth keeping. */
  readonly kept: object | undefined
}

/** One request for data. */
export interface Lookup {
  readonly requestId: string
  /** Older data must not be served: 503 then. undefined: as old as the operator allows. */
  readonly maxAgeMs: number | undefined
}

/** The lookups behind the routes, each for one request. Throw `BrokerError`. */
export interface Groups {
  me(session: Session, lookup: Lookup): Promise<Shown>
  list(session: Session, query: PageQuery, lookup: Lookup): Promise<Shown>
  one(session: Session, id: string, lookup: Lookup): Promise<Shown>
}

export interface GroupsParts {
  readonly cache: GroupCache
  readonly userName: PamUserName
  readonly directory: PamDirectory
  readonly directoryMaxAgeMs: number
}

export function createGroups({ cache, userName, directory, directoryMaxAgeMs }: GroupsParts): Groups {
  const ofMe = new WeakMap<KnownList, Readonly<Record<string, unknown>>>()
  const pagesOf = new WeakMap<KnownList, Map<string, DirectoryPage>>()

  return {
    async me(session, lookup) {
      const user = userOf(session)
      const served = await lookUp({ kind: 'me', user }, lookup)
      const data = ofMe.get(served.list) ?? accessOf(user, served.list.groups)
      ofMe.set(served.list, data)
      return shown(served, data, data)
    },

    async list(session, query, lookup) {
      await demandDirectory(session, lookup)
      const served = await lookUp({ kind: 'directory' }, lookup)
      const page = pageOf(served.list, query)
      return shown(served, page, page)
    },

    async one(session, id, lookup) {
      await demandDirectory(session, lookup)
      const served = await lookUp({ kind: 'directory' }, lookup)
      const group = served.list.groups.find((candidate) => candidate.id === id.toLowerCase())
      if (group === undefined) throw notFound('group (Group)')
      return shown(served, { ...group }, undefined)
    },
  }

  /** Pages that people turn are kept; what they search for is not. */
  function pageOf(list: KnownList, query: PageQuery): DirectoryPage {
    if (query.search !== undefined) return selectGroups(list, query)
    const pages = pagesOf.get(list) ?? new Map<string, DirectoryPage>()
    pagesOf.set(list, pages)
    const name = JSON.stringify([query.role, query.sort, query.limit, query.cursor])
    const known = pages.get(name)
    if (known !== undefined) return known
    const page = selectGroups(list, query)
    if (pages.size >= MAX_PAGES_KEPT) pages.clear()
    pages.set(name, page)
    return page
  }

  async function lookUp(list: ListOf, { requestId, maxAgeMs }: Lookup): Promise<ServedList> {
    try {
      return await cache.get(list, { requestId, maxAgeMs })
    } catch (error) {
      if (!(error instanceof PamFailure)) throw error
      throw maxAgeMs === undefined || error.trouble === 'unknown_person'
        ? error.toBrokerError()
        : notRecent(error)
    }
  }

  function userOf({ login }: Session): string {
    const user = pamUserOf(login, userName)
    if (user === undefined) throw new PamFailure('unknown_person').toBrokerError()
    return user
  }

  /** Throws unless this user may see the team's groups; decided on a recent response, or not at all (503). */
  async function demandDirectory(session: Session, { requestId }: Lookup): Promise<void> {
    if (directory.kind === 'all') return
    if (directory.kind === 'none') throw notAllowed('PAM_DIRECTORY: nobody may list groups')
    const groups = await groupsForDecision(session, requestId)
    const { roles, unknownRoles } = combineRoles(groups.map((group) => group.roles))
    const allowed =
      directory.roles.some(
        (role) => (roles as readonly string[]).includes(role) || unknownRoles.includes(role),
      ) || directory.groups.some((id) => groups.some((group) => group.id === id.toLowerCase()))
    if (!allowed) throw notAllowed('PAM_DIRECTORY: this person may not list groups')
  }

  async function groupsForDecision(session: Session, requestId: string): Promise<readonly Group[]> {
    const user = pamUserOf(session.login, userName)
    if (user === undefined) throw notAllowed('PAM_DIRECTORY: this person is not known to the access service')
    try {
      const options = { requestId, maxAgeMs: directoryMaxAgeMs }
      const { list } = await cache.get({ kind: 'me', user }, options)
      return list.groups
    } catch (error) {
      if (!(error instanceof PamFailure)) throw error
      if (error.trouble === 'unknown_person')
        throw notAllowed('PAM_DIRECTORY: this person is not known to the access service')
      throw notRecent(error)
    }
  }
}

/** There is no data that is recent enough. Whatever the reason, which keeps its own code, this is a 503. */
function notRecent(failure: PamFailure) {
  const { code, retryAfterSeconds: defaultSeconds = 5 } = failure.rule
  const retryAfterSeconds = Math.max(1, Math.ceil((failure.retryAfterMs ?? defaultSeconds * 1000) / 1000))
  return pamError(503, code, { retryAfterSeconds, cause: failure })
}

function accessOf(user: string, groups: readonly Group[]): Readonly<Record<string, unknown>> {
  const { roles, maximalRoles, unknownRoles } = combineRoles(groups.map((group) => group.roles))
  return { user, groups, roles, maximalRoles, unknownRoles }
}

function shown({ list, ageMs, stale }: ServedList, data: Shown['data'], kept: object | undefined): Shown {
  return { data, fetchedAtMs: list.fetchedAtMs, ageMs, stale, kept }
}
