import { type Group, isUuid } from '../upstream/group.ts'
import type { GroupList } from './group-lists.ts'

export interface PageQuery {
  /** Part of a name, case-insensitive. */
  readonly search: string | undefined
  readonly role: string | undefined
  readonly sort: Sort
  readonly limit: number
  /** The `nextCursor` of the previous page. */
  readonly cursor: string | undefined
}

export const SORTS = ['id', 'name'] as const
export type Sort = (typeof SORTS)[number]

export interface DirectoryPage extends Readonly<Record<string, unknown>> {
  readonly list: readonly Group[]
  readonly nextCursor: string | null
}

/**
 * Selects one page of the team's groups. A cursor is a sort key: if groups are added or removed between two pages, the other groups
 * are neither skipped nor repeated.
 */
export function selectGroups(
  list: GroupList,
  { search, role, sort, limit, cursor }: PageQuery,
): DirectoryPage {
  const sorted = sortedBy(sort, list)
  const term = search === undefined ? undefined : foldCase(search)
  const page: SortedGroup[] = []
  const first = findFirstAfter(sorted, cursor === undefined ? undefined : parseCursor(sort, cursor))
  for (const item of sorted.slice(first)) {
    if (role !== undefined && !item.group.roles.includes(role)) continue
    if (term !== undefined && !item.foldedName.includes(term)) continue
    if (page.length === limit) return toPage(page, formatCursor(sort, page.at(-1)))
    page.push(item)
  }
  return toPage(page, null)
}

function toPage(page: readonly SortedGroup[], nextCursor: string | null): DirectoryPage {
  return { list: page.map(({ group }) => group), nextCursor }
}

/** Whether the cursor is valid for this order. */
export function isCursor(sort: Sort, cursor: string): boolean {
  return parseCursor(sort, cursor) !== undefined
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

/** Sorting by name compares code units in lower case, so the order is the same in every locale. Equal names are sorted by id. */
function sortedBy(sort: Sort, list: GroupList): readonly SortedGroup[] {
  const known = sortedLists[sort].get(list)
  if (known !== undefined) return known
  const sorted = list.groups
    .map((group) => {
      const foldedName = foldCase(group.name)
      const nameKey = `${foldedName.slice(0, MAX_SORTED_CHARS)}${SEPARATOR}${group.id}`
      return { key: sort === 'id' ? group.id : nameKey, foldedName, group }
    })
    .sort((one, other) => (one.key < other.key ? -1 : 1))
  sortedLists[sort].set(list, sorted)
  return sorted
}

/** The index of the first group after `key`. The group of `key` may have been removed. */
function findFirstAfter(groups: readonly SortedGroup[], key: string | undefined): number {
  let low = 0
  let high = key === undefined ? 0 : groups.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((groups[middle]?.key ?? '') <= (key ?? '')) low = middle + 1
    else high = middle
  }
  return low
}

/** The start of a name cursor. An id cursor is the id alone. */
const NAME_CURSOR = 'n.'
const NAME_KEY = new RegExp(`^[^]{0,${MAX_SORTED_CHARS}}${SEPARATOR}([^]{36})$`)

function formatCursor(sort: Sort, sorted: SortedGroup | undefined): string | null {
  if (sorted === undefined) return null
  return sort === 'id' ? sorted.key : formatNameCursor(sorted.key)
}

function formatNameCursor(key: string): string {
  return NAME_CURSOR + Buffer.from(key, 'utf16le').toString('base64url')
}

function parseCursor(sort: Sort, cursor: string): string | undefined {
  if (sort === 'id') return isUuid(cursor) ? cursor.toLowerCase() : undefined
  const key = Buffer.from(cursor.slice(NAME_CURSOR.length), 'base64url').toString('utf16le')
  return formatNameCursor(key) === cursor && isUuid(NAME_KEY.exec(key)?.[1] ?? '') ? key : undefined
}

/** Names that differ in letter case or in the encoding of accents are equal. */
function foldCase(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
