import { type Group, isUuid } from '../upstream/group.ts'
import type { KnownList } from './list-records.ts'
import { memoize } from './memoize.ts'

export interface PageQuery {
  /** Part of a name, in any case. */
  readonly search: string | undefined
  readonly role: string | undefined
  readonly sort: Sort
  readonly limit: number
  /** The `nextCursor` of the page before. */
  readonly cursor: string | undefined
}

export const SORTS = ['id', 'name'] as const
export type Sort = (typeof SORTS)[number]

export interface DirectoryPage extends Readonly<Record<string, unknown>> {
  readonly list: readonly Group[]
  readonly nextCursor: string | null
}

/**
 * One page of the team's groups. A cursor is a place in the order: if groups are added or removed between two pages, the others
 * are neither skipped nor repeated.
 */
export function selectGroups(
  list: KnownList,
  { search, role, sort, limit, cursor }: PageQuery,
): DirectoryPage {
  const places = placesBy[sort](list)
  const wanted = search === undefined ? undefined : foldCase(search)
  const names = wanted === undefined ? [] : foldedNames(places)
  const page: Place[] = []
  for (
    let index = firstAfter(places, cursor === undefined ? undefined : keyOfCursor(sort, cursor));
    index < places.length;
    index++
  ) {
    const place = places[index]
    if (place === undefined) break
    if (role !== undefined && !place.group.roles.includes(role)) continue
    if (wanted !== undefined && !names[index]?.includes(wanted)) continue
    if (page.length === limit) return pageOf(page, cursorOf(sort, page.at(-1)))
    page.push(place)
  }
  return pageOf(page, null)
}

function pageOf(places: readonly Place[], nextCursor: string | null): DirectoryPage {
  return { list: places.map(({ group }) => group), nextCursor }
}

/** Whether the cursor belongs to this order. */
export function isCursor(sort: Sort, cursor: string): boolean {
  return keyOfCursor(sort, cursor) !== undefined
}

/** A group and its unique sort key. */
interface Place {
  readonly key: string
  readonly group: Group
}

/** The rest of a longer name does not count in the order, because cursors contain the key. */
const MAX_SORTED_CHARS = 200
const SEPARATOR = '\0'

/** By the code units of the name in lower case, so that locales do not matter; groups with the same name by id. */
const KEY_BY: Readonly<Record<Sort, (group: Group) => string>> = {
  id: ({ id }) => id,
  name: ({ id, name }) => `${foldCase(name).slice(0, MAX_SORTED_CHARS)}${SEPARATOR}${id}`,
}

const placesBy: Readonly<Record<Sort, (list: KnownList) => readonly Place[]>> = {
  id: memoize((list) => sortedPlaces(list, KEY_BY.id)),
  name: memoize((list) => sortedPlaces(list, KEY_BY.name)),
}

function sortedPlaces({ groups }: KnownList, keyOf: (group: Group) => string): readonly Place[] {
  return groups
    .map((group) => ({ key: keyOf(group), group }))
    .sort((one, other) => (one.key < other.key ? -1 : 1))
}

/** The index of the first place after `key`. The group of `key` may have been removed. */
function firstAfter(places: readonly Place[], key: string | undefined): number {
  let low = 0
  let high = key === undefined ? 0 : places.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((places[middle]?.key ?? '') <= (key ?? '')) low = middle + 1
    else high = middle
  }
  return low
}

/** The start of a cursor of the order by name. A cursor of the order by id is the id alone. */
const NAME_CURSOR = 'n.'
const NAME_KEY = new RegExp(`^[^]{0,${MAX_SORTED_CHARS}}${SEPARATOR}([^]{36})$`)

function cursorOf(sort: Sort, place: Place | undefined): string | null {
  if (place === undefined) return null
  return sort === 'id' ? place.key : nameCursorOf(place.key)
}

function nameCursorOf(key: string): string {
  return NAME_CURSOR + Buffer.from(key, 'utf16le').toString('base64url')
}

function keyOfCursor(sort: Sort, cursor: string): string | undefined {
  if (sort === 'id') return isUuid(cursor) ? cursor.toLowerCase() : undefined
  const key = Buffer.from(cursor.slice(NAME_CURSOR.length), 'base64url').toString('utf16le')
  return nameCursorOf(key) === cursor && isUuid(NAME_KEY.exec(key)?.[1] ?? '') ? key : undefined
}

const foldedNames = memoize((places: readonly Place[]) => places.map(({ group }) => foldCase(group.name)))

/** Neither letter case nor the encoding of accents distinguishes names. */
function foldCase(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
