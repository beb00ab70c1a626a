import type { PamGroup } from './pam-config.ts'
import { compareKeys, sortKey } from './pam-directory.ts'
import { type FieldProblem, PamError } from './pam-errors.ts'

/** The query of a list call. */
export type ListQuery = {
  count: number | undefined
  /** The sort key that the page begins after (or, with `prev`, ends before). */
  after: string | undefined
  prev: boolean
  contains: string | undefined
  startsWith: string | undefined
  /** These groups alone. */
  ids: readonly string[] | undefined
  /** Not the groups of these names; upper and lower case differ. */
  ignore: readonly string[]
  descending: boolean
  includeDeleted: boolean
  onlyDeleted: boolean
  onlyDisconnectedMode: boolean
  /** All of them as they came: they ride along in the links to other pages. */
  asked: URLSearchParams
}

/** One page; `next` and `prev` are the queries of the pages beside it, without a leading `?`. */
export type Page = { groups: PamGroup[]; next: string | undefined; prev: string | undefined }

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

/** @throws invalid_request naming the parameters that are wrong, unknown or repeated */
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
    problems.push({ path: 'offset', message: 'is not one that a link gave' })

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
    asked: query,
  }
  if (problems.length > 0) throw new PamError('invalid_request', problems)
  return parsed
}

/** @throws invalid_request naming every parameter, as the operation takes none */
export function rejectQuery(query: URLSearchParams): void {
  const problems = findParameterProblems(query, [])
  if (problems.length > 0) throw new PamError('invalid_request', problems)
}

function findParameterProblems(query: URLSearchParams, known: readonly string[]): FieldProblem[] {
  return [...new Set(query.keys())].flatMap((path) => {
    if (!known.includes(path)) return { path, message: 'is no parameter of this operation' }
    return query.getAll(path).length > 1 ? { path, message: 'must not be repeated' } : []
  })
}

/**
 * Takes one page out of a sorted list. Offsets stand for a place in the order, not for a number of
 * groups: a list that changes between two pages neither skips nor repeats what stays.
 */
export function paginate(
  all: readonly PamGroup[],
  query: ListQuery,
  { pageSize, showDeleted }: { pageSize: number; showDeleted: boolean },
): Page {
  const shown = all.filter((group) => isAskedFor(group, query, showDeleted))
  if (query.descending) shown.reverse()
  const size = Math.min(query.count ?? pageSize, pageSize)
  const [from, to] = boundsOf(shown, query, size)
  const groups = shown.slice(from, to)
  const first = groups.at(0)
  const last = groups.at(-1)
  return {
    groups,
    next: last !== undefined && to < shown.length ? queryFor(query, last, false) : undefined,
    prev: first !== undefined && from > 0 ? queryFor(query, first, true) : undefined,
  }
}

function isAskedFor(group: PamGroup, query: ListQuery, showDeleted: boolean): boolean {
  const name = group.name.toLowerCase()
  const isDeleted = group.deletedAt !== undefined
  return (
    (!isDeleted || query.includeDeleted || query.onlyDeleted || showDeleted) &&
    (isDeleted || !query.onlyDeleted) &&
    (group.disconnectedMode || !query.onlyDisconnectedMode) &&
    (query.ids === undefined || query.ids.includes(group.id)) &&
    !query.ignore.includes(group.name) &&
    (query.startsWith === undefined || name.startsWith(query.startsWith.toLowerCase())) &&
    (query.contains === undefined || name.includes(query.contains.toLowerCase()))
  )
}

function boundsOf(shown: readonly PamGroup[], query: ListQuery, size: number): [number, number] {
  const { after } = query
  if (after === undefined) return [0, size]
  const way = query.descending ? -1 : 1
  const place = shown.findIndex((group) => {
    const order = compareKeys(sortKey(group), after) * way
    return query.prev ? order >= 0 : order > 0
  })
  const at = place < 0 ? shown.length : place
  return query.prev ? [Math.max(0, at - size), at] : [at, at + size]
}

/** Everything that was asked for rides along, so that `count` and the filters are supplied only once. */
function queryFor({ asked }: ListQuery, beside: PamGroup, prev: boolean): string {
  const place = { offset: offsetOfKey(sortKey(beside)), ...(prev ? { prev: 'true' } : {}) }
  const rest = [...asked].filter(([name]) => name !== 'offset' && name !== 'prev')
  return new URLSearchParams([...Object.entries(place), ...rest]).toString()
}

const OFFSET_MARK = 'o1:'

export function offsetOfKey(key: string): string {
  return Buffer.from(OFFSET_MARK + key).toString('base64url')
}

function keyOfOffset(offset: string): string | undefined {
  const text = Buffer.from(offset, 'base64url').toString()
  return text.startsWith(OFFSET_MARK) ? text.slice(OFFSET_MARK.length) : undefined
}
