import type { Group } from '../upstream/group.ts'
import type { GroupList } from './list-store.ts'

export interface PageQuery {
  /** Part of a name, case-insensitive. */
  readonly search?: string | undefined
  readonly role?: string | undefined
  readonly sort: Sort
  readonly limit: number
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string | undefined
}

export const SORTS = ['id', 'name'] as const
export type Sort = (typeof SORTS)[number]

/**
 * Selects one page of the team's groups. A cursor is a sort key: if groups are added or removed
 * between two pages, the other groups are neither skipped nor repeated.
 */
export function selectGroups(list: GroupList, { search, role, sort, limit, cursor }: PageQuery) {
  const after = cursor === undefined ? '' : (parseCursor(sort, cursor) ?? '')
  const term = foldCase(search ?? '')
  const found = sortedBy(sort, list).filter(
    ({ key, foldedName, group }) =>
      key > after && foldedName.includes(term) && (role === undefined || group.roles.includes(role)),
  )
  const page = found.slice(0, limit)
  const last = found.length > limit ? page.at(-1) : undefined
  const nextCursor = last === undefined ? null : formatCursor(sort, last.key)
  return { list: page.map(({ group }) => group), nextCursor }
}

interface SortedGroup {
  /** Unique. */
  readonly key: string
  readonly foldedName: string
  readonly group: Group
}

/** Longer names are sorted by this prefix only, because cursors contain the key. */
const MAX_SORTED_CHARS = 200
const SEPARATOR = '\0'

const sortedLists: Readonly<Record<Sort, WeakMap<GroupList, readonly SortedGroup[]>>> = {
  id: new WeakMap(),
  name: new WeakMap(),
}

/**
 * Sorting by name compares code units in lower case, so the order is the same in every locale.
 * Equal names are sorted by id.
 */
function sortedBy(sort: Sort, list: GroupList): readonly SortedGroup[] {
  const known = sortedLists[sort].get(list)
  if (known !== undefined) return known
  const sorted = list.groups
    .map((group) => {
      const foldedName = foldCase(group.name)
      const nameKey = `${foldedName.slice(0, MAX_SORTED_CHARS)}${SEPARATOR}${group.id}`
      return { key: sort === 'id' ? group.id : nameKey, foldedName, group }
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  sortedLists[sort].set(list, sorted)
  return sorted
}

/** In UTF-16, because a name may have half of a surrogate pair. */
function formatCursor(sort: Sort, key: string): string {
  return Buffer.from(`${sort} ${key}`, 'utf16le').toString('base64url')
}

/** The sort key; undefined if it is not a cursor for this order. */
export function parseCursor(sort: Sort, cursor: string): string | undefined {
  const key = Buffer.from(cursor, 'base64url').toString('utf16le').slice(`${sort} `.length)
  return formatCursor(sort, key) === cursor ? key : undefined
}

/** Names that differ in letter case or in the encoding of accents are equal. */
function foldCase(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
