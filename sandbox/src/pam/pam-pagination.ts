import { compareKeys, sortKey } from './pam-directory.ts'
import { type FieldProblem, PamError } from './pam-errors.ts'

/** The query of a list request. */
export type ListQuery = {
  count: number | undefined
  /** The sort key after which the page begins or, with `prev`, before which it ends. */
  after: string | undefined
  prev: boolean
  contains: string | undefined
  startsWith: string | undefined
  /** Only groups with these ids. */
  ids: readonly string[] | undefined
  /** No groups with these names; case-sensitive. */
  ignore: readonly string[]
  descending: boolean
  includeDeleted: boolean
  onlyDeleted: boolean
  onlyDisconnectedMode: boolean
  /** All parameters as sent; links to other pages repeat them. */
  params: URLSearchParams
}

/** An element of a list, which is sorted by name and id. */
export type Listed = { id: string; name: string; deletedAt?: string | undefined; disconnectedMode?: boolean }

/** `next` and `prev` are the queries of the adjacent pages, without `?`. */
export type Page<Item> = { items: Item[]; next: string | undefined; prev: string | undefined }

const LIST_PARAMETERS = [
  'contains',
  'count',
  'descending',
  'disconnected_mode_on_only',
  'id',
  'ignore',
  'include_deleted',
  'offset',
  'only_include_deleted',
  'prev',
  'starts_with',
]

/** @throws invalid_request naming all wrong, unknown and repeated parameters */
export function parseListQuery(query: URLSearchParams): ListQuery {
  const problems = findParameterProblems(query, LIST_PARAMETERS)
  const text = (name: string) => query.get(name) ?? undefined
  function flag(name: string): boolean {
    const value = query.get(name)
    if (value !== null && value !== 'true' && value !== 'false')
      problems.push({ path: name, message: 'must be true or false' })
    return value === 'true'
  }
  const count = text('count')
  if (count !== undefined && !/^[1-9]\d{0,8}$/.test(count))
    problems.push({ path: 'count', message: 'must be a positive integer' })
  const offset = text('offset')
  const after = offset === undefined ? undefined : keyOfOffset(offset)
  if (offset !== undefined && after === undefined)
    problems.push({ path: 'offset', message: 'is not an offset of a pagination link' })

  const parsed = {
    count: count === undefined ? undefined : Number(count),
    after,
    prev: flag('prev'),
    contains: text('contains'),
    startsWith: text('starts_with'),
    ids: text('id')?.split(','),
    ignore: text('ignore')?.split(',') ?? [],
    descending: flag('descending'),
    includeDeleted: flag('include_deleted'),
    onlyDeleted: flag('only_include_deleted'),
    onlyDisconnectedMode: flag('disconnected_mode_on_only'),
    params: query,
  }
  if (problems.length > 0) throw new PamError('invalid_request', problems)
  return parsed
}

/** For operations without parameters. @throws invalid_request naming every parameter */
export function rejectQuery(query: URLSearchParams): void {
  const problems = findParameterProblems(query, [])
  if (problems.length > 0) throw new PamError('invalid_request', problems)
}

function findParameterProblems(query: URLSearchParams, known: readonly string[]): FieldProblem[] {
  return [...new Set(query.keys())].flatMap((path) => {
    if (!known.includes(path)) return { path, message: 'is not a parameter of this operation' }
    return query.getAll(path).length > 1 ? { path, message: 'must not be repeated' } : []
  })
}

/**
 * Returns one page of a sorted list. Offsets encode a sort key, not an index: if the list changes
 * between two pages, the remaining groups are neither skipped nor repeated.
 */
export function paginate<Item extends Listed>(
  all: readonly Item[],
  query: ListQuery,
  { pageSize, showDeleted }: { pageSize: number; showDeleted: boolean },
): Page<Item> {
  const matching = all.filter((group) => matchesQuery(group, query, showDeleted))
  if (query.descending) matching.reverse()
  const size = Math.min(query.count ?? pageSize, pageSize)
  const [from, to] = boundsOf(matching, query, size)
  const items = matching.slice(from, to)
  const first = items.at(0)
  const last = items.at(-1)
  return {
    items,
    next: last !== undefined && to < matching.length ? queryFor(query, last, false) : undefined,
    prev: first !== undefined && from > 0 ? queryFor(query, first, true) : undefined,
  }
}

function matchesQuery(group: Listed, query: ListQuery, showDeleted: boolean): boolean {
  const name = group.name.toLowerCase()
  const isDeleted = group.deletedAt !== undefined
  return (
    (!isDeleted || query.includeDeleted || query.onlyDeleted || showDeleted) &&
    (isDeleted || !query.onlyDeleted) &&
    (group.disconnectedMode === true || !query.onlyDisconnectedMode) &&
    (query.ids === undefined || query.ids.includes(group.id)) &&
    !query.ignore.includes(group.name) &&
    (query.startsWith === undefined || name.startsWith(query.startsWith.toLowerCase())) &&
    (query.contains === undefined || name.includes(query.contains.toLowerCase()))
  )
}

function boundsOf(groups: readonly Listed[], query: ListQuery, size: number): [number, number] {
  const { after } = query
  if (after === undefined) return [0, size]
  const direction = query.descending ? -1 : 1
  const found = groups.findIndex((group) => {
    const order = compareKeys(sortKey(group), after) * direction
    return query.prev ? order >= 0 : order > 0
  })
  const index = found < 0 ? groups.length : found
  return query.prev ? [Math.max(0, index - size), index] : [index, index + size]
}

/** Repeats all parameters, so that clients send `count` and filters only with the first request. */
function queryFor({ params }: ListQuery, adjacent: Listed, prev: boolean): string {
  const position = { offset: offsetOfKey(sortKey(adjacent)), ...(prev ? { prev: 'true' } : {}) }
  const rest = [...params].filter(([name]) => name !== 'offset' && name !== 'prev')
  return new URLSearchParams([...Object.entries(position), ...rest]).toString()
}

const OFFSET_PREFIX = 'o1:'

export function offsetOfKey(key: string): string {
  return Buffer.from(OFFSET_PREFIX + key).toString('base64url')
}

function keyOfOffset(offset: string): string | undefined {
  const text = Buffer.from(offset, 'base64url').toString()
  return text.startsWith(OFFSET_PREFIX) ? text.slice(OFFSET_PREFIX.length) : undefined
}
