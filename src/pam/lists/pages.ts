import { z } from 'zod'
import { fieldsOf, type UpstreamResponse } from '../../upstream/http-api.ts'
import { Group, isSameTeam, parseGroup } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure, unreadable } from '../upstream/pam-errors.ts'
import { parseLinkHeader } from './link-header.ts'

export type PagesOptions = Pick<PamDeps, 'origin' | 'team' | 'monotonic' | 'pageLimits'>

const MAX_LINK_HEADER_BYTES = 4096

/** `path` includes the query. `timeoutMs` is the time left for the whole list. */
export type FetchPage = (path: string, timeoutMs: number) => Promise<UpstreamResponse>

/**
 * The pages of a list that were read so far. Stored, so that another replica can continue after a
 * failure.
 */
export const ListPages = z.object({
  version: z.literal(1),
  /**
   * When the first page was requested, by the API's clock. Later changes may be missing, so the
   * list is as old as this.
   */
  beganAtMs: z.number(),
  /** The query of the next page; missing after the last page. */
  next: z.string().optional(),
  /** The queries of the pages that were read. */
  asked: z.array(z.string()),
  /** The number of groups, deleted ones included. */
  items: z.number(),
  /** Without deleted groups. When all pages were read: sorted by id, each group once. */
  groups: z.array(Group),
  /** PAM does not know the user. */
  isUnknown: z.literal(true).optional(),
})
export type ListPages = z.output<typeof ListPages>

export function noPages(beganAtMs = 0): ListPages {
  return { version: 1, beganAtMs, next: '', asked: [], items: 0, groups: [] }
}

/**
 * Reads the remaining pages of a list. The first request has no pagination parameters; then `Link
 * rel="next"` is followed until there is none (PAM spec, "Limits"). A list is never incomplete: a
 * link that must not be followed, a loop, two different next pages, a malformed group or an
 * exceeded limit is an error. After a failure, a call with the same `pages` continues where this
 * one stopped. If a later page does not exist, the whole list is read again, once.
 *
 * @throws PamFailure
 */
export async function readPages(
  path: string,
  fetchPage: FetchPage,
  options: PagesOptions,
  pages: ListPages,
): Promise<void> {
  const deadline = options.monotonic() + options.pageLimits.maxTotalMs
  const readRemaining = async () => {
    while (pages.next !== undefined) await readPage(path, fetchPage, options, pages, deadline)
  }
  try {
    await readRemaining()
  } catch (error) {
    if (!(error instanceof PamFailure) || error.outcome !== 'page_gone') throw error
    Object.assign(pages, noPages())
    await readRemaining()
  }
  // A list that changes between two pages may contain a group twice: the later one is used. With a
  // fixed order, cursors keep their position.
  const groups = [...new Map(pages.groups.map((group) => [group.id, group])).values()]
  pages.groups = groups.sort((a, b) => (a.id < b.id ? -1 : 1))
}

async function readPage(
  path: string,
  fetchPage: FetchPage,
  options: PagesOptions,
  pages: ListPages,
  deadline: number,
): Promise<void> {
  const { pageLimits, monotonic } = options
  const query = pages.next ?? ''
  if (pages.asked.includes(query)) throw unreadable('loop')
  if (pages.asked.length >= pageLimits.maxPages) throw unreadable('too many pages')
  const leftMs = deadline - monotonic()
  if (leftMs <= 0) throw new PamFailure('no_answer', { reason: 'the list took too long' })

  const answer = await fetchPage(path + query, leftMs)
  const { list: sent } = fieldsOf(answer.json)
  // some servers write an empty list as null; a missing one is none
  const list = sent === null ? [] : sent
  if (!Array.isArray(list)) throw unreadable('no list')
  if (pages.items + list.length > pageLimits.maxItems) throw unreadable('too many items')
  const groups = list.flatMap((item) => parseGroup(item) ?? [])
  const next = parseNextQuery(answer, path + query, path, options)
  pages.asked.push(query)
  pages.items += list.length
  pages.groups.push(...groups)
  pages.next = next
}

/**
 * The query of the next page; undefined on the last page. Only the query of a link is used, never
 * its path.
 */
function parseNextQuery(
  { headers }: UpstreamResponse,
  current: string,
  path: string,
  { origin, team }: PagesOptions,
): string | undefined {
  const lines = headers.link === undefined ? [] : [headers.link].flat()
  if (lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) > MAX_LINK_HEADER_BYTES)
    throw unreadable('link header too long')

  const links = lines.flatMap((line) => {
    const found = parseLinkHeader(line)
    if (found === undefined) throw unreadable('malformed link header')
    return found
  })
  const queries = new Set<string>()
  for (const link of links) {
    if (!link.relations.includes('next')) continue
    if (link.parameters.has('anchor')) throw unreadable('next page of something else')
    queries.add(checkedQuery(link.target, new URL(current, origin), { path, team }))
  }
  if (queries.size > 1) throw unreadable('two next pages')
  // A link without a relation is malformed (RFC 8288, section 3.3), and might be the next page.
  if (queries.size === 0 && links.some(({ relations }) => relations.length === 0))
    throw unreadable('link without a relation')
  return [...queries][0]
}

function checkedQuery(target: string, base: URL, list: { path: string; team: string }): string {
  if (!URL.canParse(target, base.href)) throw unreadable('not a URL')
  const url = new URL(target, base)
  if (url.origin !== base.origin) throw unreadable('link to another origin')
  if (url.username !== '' || url.password !== '') throw unreadable('link with user info')
  if (!isSamePath(url.pathname, list)) throw unreadable('link to another path')
  return url.search
}

/**
 * Compares decoded segments: a server may write `@` for our `%40`, and the team's name in another
 * letter case.
 */
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
