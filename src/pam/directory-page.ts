import type { Group } from './group.ts'
import type { KnownList } from './group-lists.ts'

export interface PageQuery {
  /** Part of a name, in any case. */
  readonly search: string | undefined
  readonly role: string | undefined
  readonly limit: number
  /** The id of the last group that the caller has. */
  readonly cursor: string | undefined
}

export interface DirectoryPage extends Readonly<Record<string, unknown>> {
  readonly list: readonly Group[]
  readonly nextCursor: string | null
}

/**
 * One page of the team's groups. The cursor is the last id that was seen and the list lies by id, so that paging
 * through a list that changes neither skips nor repeats what stays.
 */
export function selectGroups(list: KnownList, { search, role, limit, cursor }: PageQuery): DirectoryPage {
  const { groups } = list
  const wanted = search === undefined ? undefined : foldCase(search)
  const names = wanted === undefined ? [] : foldedNames(list)
  const page: Group[] = []
  for (let index = cursor === undefined ? 0 : firstAfter(groups, cursor); index < groups.length; index++) {
    const group = groups[index]
    if (group === undefined) break
    if (role !== undefined && !group.roles.includes(role)) continue
    if (wanted !== undefined && !names[index]?.includes(wanted)) continue
    if (page.length === limit) return { list: page, nextCursor: page.at(-1)?.id ?? null }
    page.push(group)
  }
  return { list: page, nextCursor: null }
}

/** The place of the first group whose id comes after `id`, which need not be there any more. */
function firstAfter(groups: readonly Group[], id: string): number {
  let low = 0
  let high = groups.length
  while (low < high) {
    const middle = (low + high) >> 1
    const found = groups[middle]
    if (found !== undefined && found.id <= id) low = middle + 1
    else high = middle
  }
  return low
}

const folded = new WeakMap<KnownList, readonly string[]>()

function foldedNames(list: KnownList): readonly string[] {
  const names = folded.get(list) ?? list.groups.map(({ name }) => foldCase(name))
  folded.set(list, names)
  return names
}

/** People type a name as they see it: neither case nor the way an accent is encoded tells names apart. */
function foldCase(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
