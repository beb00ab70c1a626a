import { z } from 'zod'
import type { UpstreamResponse } from '../../upstream/upstream-client.ts'
import { type Group, isSameTeam, StoredGroups } from '../upstream/group.ts'
import type { ListTunables, PamDeps } from '../upstream/pam-deps.ts'
import { fieldsOf, PamFailure, unreadable } from '../upstream/pam-errors.ts'
import { parseLinkHeader } from './link-header.ts'
import { ObservedRateLimit } from './refresh-interval.ts'

export interface PagesOptions<Item> extends Pick<PamDeps, 'origin' | 'team' | 'monotonic'> {
  readonly limits: Pick<ListTunables, 'maxPages' | 'maxItems' | 'maxTotalMs' | 'maxLinkHeaderBytes'>
  /** undefined: the item is left out. */
  readonly parse: (item: unknown) => Item | undefined
}

/** `path` includes the query. `timeoutMs` is the time left for the whole list. */
export type FetchPage = (path: string, timeoutMs: number) => Promise<UpstreamResponse>

/** The pages of a list that were read so far. Stored, so that another replica can continue after a failure. */
export const ReadProgress = z.object({
  /** When the first page was requested, by the API's clock. */
  beganAtMs: z.number(),
  /** The query of the next page. */
  next: z.string(),
  /** The queries of the pages that were read. */
  asked: z.array(z.string()),
  /** The number of groups, deleted ones included. */
  items: z.number(),
  groups: StoredGroups,
  rate: ObservedRateLimit.optional(),
})
export type ReadProgress = ProgressOf<Group>
/** The items are groups, or those of another list. */
type ProgressOf<Item> = Omit<z.output<typeof ReadProgress>, 'groups'> & { groups: Item[] }

export function newReadProgress<Item = Group>(): ProgressOf<Item> {
  return { beganAtMs: 0, next: '', asked: [], items: 0, groups: [] }
}

/**
 * Reads all pages of a list. The first request has no pagination parameters; then `Link rel="next"` is followed until there is none
 * (PAM spec, "Limits"). A list is never incomplete: a link that must not be followed, a loop, two different next pages, a malformed
 * group or an exceeded limit is an error. After a failure, a call with the same `read` continues where this one stopped. If a later
 * page does not exist, the whole list is read again, once.
 */
export async function readPages<Item extends { readonly id: string }>(
  path: string,
  fetchPage: FetchPage,
  options: PagesOptions<Item>,
  read = newReadProgress<Item>(),
): Promise<Item[]> {
  const deadline = options.monotonic() + options.limits.maxTotalMs
  const continueRead = () => readRemaining(read, path, fetchPage, options, deadline)
  try {
    return await continueRead()
  } catch (error) {
    if (!(error instanceof PamFailure) || error.outcome !== 'page_gone') throw error
    Object.assign(read, newReadProgress<Item>())
    return continueRead()
  }
}

async function readRemaining<Item extends { readonly id: string }>(
  read: ProgressOf<Item>,
  path: string,
  fetchPage: FetchPage,
  options: PagesOptions<Item>,
  deadline: number,
): Promise<Item[]> {
  const { limits, monotonic, parse } = options
  for (;;) {
    if (read.asked.includes(read.next)) throw unreadable('loop')
    if (read.asked.length >= limits.maxPages) throw unreadable('too many pages')
    const leftMs = deadline - monotonic()
    if (leftMs <= 0) throw new PamFailure('no_answer', { reason: 'the list took too long' })

    const target = path + read.next
    const answer = await fetchPage(target, leftMs)
    const list = parseList(answer.json)
    if (read.items + list.length > limits.maxItems) throw unreadable('too many items')
    const groups = list.flatMap((item) => parse(item) ?? [])
    const next = parseNextQuery(answer, target, path, options)
    read.asked.push(read.next)
    read.items += list.length
    read.groups.push(...groups)
    if (next === undefined) return removeDuplicates(read.groups)
    read.next = next
  }
}

/** A list that changes between two pages may contain an item twice. The later one is used. */
function removeDuplicates<Item extends { readonly id: string }>(groups: readonly Item[]): Item[] {
  return [...new Map(groups.map((group) => [group.id, group])).values()]
}

function parseList(json: unknown): readonly unknown[] {
  const { list } = fieldsOf(json)
  if (!Array.isArray(list)) throw unreadable('no list')
  return list
}

/** The query of the next page; undefined on the last page. Only the query of a link is used, never its path. */
function parseNextQuery(
  { headers }: UpstreamResponse,
  current: string,
  path: string,
  { origin, team, limits }: PagesOptions<unknown>,
): string | undefined {
  const lines = headers.link === undefined ? [] : [headers.link].flat()
  if (lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) > limits.maxLinkHeaderBytes)
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
  const [query] = queries
  return query
}

function checkedQuery(target: string, base: URL, list: { path: string; team: string }): string {
  if (!URL.canParse(target, base.href)) throw unreadable('not a URL')
  const url = new URL(target, base)
  if (url.origin !== base.origin) throw unreadable('link to another origin')
  if (url.username !== '' || url.password !== '') throw unreadable('link with user info')
  if (!isSamePath(url.pathname, list)) throw unreadable('link to another path')
  return url.search
}

/** Compares decoded segments: a server may write `@` for our `%40`, and the team's name in another letter case. */
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
