import { z } from 'zod'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import { type Group, isSameTeam, parseGroup, StoredGroups } from '../upstream/group.ts'
import type { ListTunables, PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'
import { parseLinkHeader } from './link-header.ts'
import { RateSeen } from './refresh-interval.ts'

export interface PagesOptions extends Pick<PamDeps, 'team' | 'monotonic'> {
  /** Of the API; a link must stay on it. */
  readonly origin: string
  readonly limits: Pick<ListTunables, 'maxPages' | 'maxItems' | 'maxTotalMs' | 'maxLinkHeaderBytes'>
}

/** Requests one page; `path` has its query. `timeoutMs` is what is left for the whole list. */
export type FetchPage = (path: string, timeoutMs: number, isFirst: boolean) => Promise<UpstreamResponse>

/** How far a list has been read. It is stored, so that another replica can continue after a failure. */
export const PageRead = z.object({
  /** When its first page was requested, in the API's time. */
  beganAtMs: z.number(),
  /** The query of the next page. */
  next: z.string(),
  /** The queries of the pages that were read. */
  asked: z.array(z.string()),
  /** Deleted groups included. */
  items: z.number(),
  groups: StoredGroups,
  rate: RateSeen.optional(),
})
export type PageRead = Omit<z.output<typeof PageRead>, 'groups'> & { groups: Group[] }

export function newPageRead(): PageRead {
  return { beganAtMs: 0, next: '', asked: [], items: 0, groups: [] }
}

/**
 * Reads all pages of a list: first without pagination parameters, then following `Link rel="next"` until there is none (PAM spec,
 * "Limits"). The list is complete or an error: it fails on a link that must not be followed, a loop, two different next pages, a
 * malformed group, or a limit. After a failure, a later call with the same `read` continues where this one stopped. If a later
 * page does not exist, the list is read again once.
 */
export async function readPages(
  path: string,
  fetchPage: FetchPage,
  options: PagesOptions,
  read = newPageRead(),
): Promise<Group[]> {
  const deadline = options.monotonic() + options.limits.maxTotalMs
  const readOn = () => readFrom(read, path, fetchPage, options, deadline)
  try {
    return await readOn()
  } catch (error) {
    if (!(error instanceof PamFailure) || error.outcome !== 'page_gone') throw error
    Object.assign(read, newPageRead())
    return readOn()
  }
}

async function readFrom(
  read: PageRead,
  path: string,
  fetchPage: FetchPage,
  options: PagesOptions,
  deadline: number,
): Promise<Group[]> {
  const { limits, monotonic } = options
  for (;;) {
    if (read.asked.includes(read.next)) throw refused('loop')
    if (read.asked.length >= limits.maxPages) throw refused('too many pages')
    const leftMs = deadline - monotonic()
    if (leftMs <= 0) throw new PamFailure('no_answer', { reason: 'the list took too long' })

    const target = path + read.next
    const answer = await fetchPage(target, leftMs, read.asked.length === 0)
    const list = listOf(answer.json)
    if (read.items + list.length > limits.maxItems) throw refused('too many items')
    const groups = list.flatMap((item) => parseGroup(item) ?? [])
    const next = nextQuery(answer, target, path, options)
    read.asked.push(read.next)
    read.items += list.length
    read.groups.push(...groups)
    if (next === undefined) return withoutRepeats(read.groups)
    read.next = next
  }
}

/** A list that changes between two pages may contain a group twice: the later one counts. */
function withoutRepeats(groups: readonly Group[]): Group[] {
  return [...new Map(groups.map((group) => [group.id, group])).values()]
}

function listOf(json: unknown): readonly unknown[] {
  if (typeof json !== 'object' || json === null || !('list' in json) || !Array.isArray(json.list))
    throw refused('no list')
  return json.list
}

/** The query of the next page; undefined on the last page. Only the query of a link is used, with our own path. */
function nextQuery(
  { headers }: UpstreamResponse,
  current: string,
  path: string,
  { origin, team, limits }: PagesOptions,
): string | undefined {
  const lines = headers.link === undefined ? [] : [headers.link].flat()
  if (lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) > limits.maxLinkHeaderBytes)
    throw refused('link header too long')

  const links = lines.flatMap((line) => {
    const found = parseLinkHeader(line)
    if (found === undefined) throw refused('malformed link header')
    return found
  })
  const queries = new Set<string>()
  for (const link of links) {
    if (!link.relations.includes('next')) continue
    if (link.parameters.has('anchor')) throw refused('next page of something else')
    queries.add(queryOf(link.target, new URL(current, origin), { path, team }))
  }
  if (queries.size > 1) throw refused('two next pages')
  // A link must name its relation (RFC 8288, section 3.3). A link without one might be the next page.
  if (queries.size === 0 && links.some(({ relations }) => relations.length === 0))
    throw refused('link without a relation')
  const [query] = queries
  return query
}

function queryOf(target: string, base: URL, list: { path: string; team: string }): string {
  if (!URL.canParse(target, base.href)) throw refused('not a URL')
  const url = new URL(target, base)
  if (url.origin !== base.origin) throw refused('link to another origin')
  if (url.username !== '' || url.password !== '') throw refused('link with user info')
  if (!isSamePath(url.pathname, list)) throw refused('link to another path')
  return url.search
}

/** Compares segments: a server may write `@` for our `%40`, and the team's name in another letter case. */
function isSamePath(found: string, { path, team }: { path: string; team: string }): boolean {
  try {
    const ours = path.split('/').map(decodeURIComponent)
    const theirs = found.split('/').map(decodeURIComponent)
    const isSame = (own: string, index: number) => {
      const their = theirs[index] ?? ''
      return own === their || (own === team && isSameTeam(own, their))
    }
    return theirs.length === ours.length && ours.every(isSame)
  } catch {
    return false // a malformed percent sequence
  }
}

function refused(reason: string): PamFailure {
  return new PamFailure('unreadable', { reason })
}
