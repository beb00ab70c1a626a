import { z } from 'zod'
import { createPamRecords, type PamRecordsOptions } from '../shared/pam-records.ts'
import { type Group, type ListRef, StoredGroups } from '../upstream/group.ts'

/** Times are by the API's clock. */
export type CachedList = GroupList | MissingList

export interface GroupList extends ListHead {
  /** Sorted by id, without deleted groups. */
  readonly groups: readonly Group[]
  readonly isPurged?: undefined
}

/** PAM does not know the user. Or the list was purged: then its age is kept, so that purges do not cause more frequent reads. */
export interface MissingList extends ListHead {
  readonly groups?: undefined
  readonly isPurged?: true
}

/** The generation of a list that was not purged. */
export const INITIAL_GENERATION = ''

const StoredHead = z.object({
  id: z.string(),
  fetchedAtMs: z.number(),
  /** There are no groups. */
  unknown: z.boolean(),
  /** The refresh interval for its number of pages; undefined: an older version read it. */
  refreshAfterMs: z.number().optional(),
  /** PAM has disabled the user, who therefore has no groups. */
  isDisabled: z.boolean().optional(),
  /**
   * The generation in which the read started. For a purged list, the generation that the purge started. An older version wrote
   * none.
   */
  generation: z.string().default(INITIAL_GENERATION),
})
export type StoredHead = z.output<typeof StoredHead>

export interface ListHead extends Readonly<Omit<StoredHead, 'unknown'>> {
  /** `fetchedAtMs` on this process's monotonic clock, if this process has read the list. It is not stored. */
  readonly readAtMs?: number | undefined
}

export type ListRecords = ReturnType<typeof createListRecords>

/** A list is stored as two records: a small head, which identifies the read, and the groups, under the id in the head. */
export function createListRecords(options: Omit<PamRecordsOptions<object>, 'schema'>) {
  const heads = createPamRecords({ ...options, schema: StoredHead })
  const bodies = createPamRecords<readonly Group[]>({ ...options, schema: StoredGroups })
  const bodyName = (name: string, id: string) => `${name} ${id}`

  return {
    /** Throws if the store is out of reach. */
    readHead: heads.read,

    /** Throws if the store is out of reach. */
    async read(name: string, { unknown, ...head }: StoredHead): Promise<CachedList | undefined> {
      if (unknown) return head
      const groups = await bodies.read(bodyName(name, head.id))
      return groups && { ...head, groups }
    },

    async write(
      name: string,
      { groups, isPurged: _, readAtMs: __, ...head }: CachedList,
      ttlMs: number,
    ): Promise<void> {
      const isWritten = groups === undefined || (await bodies.write(bodyName(name, head.id), groups, ttlMs))
      if (isWritten) await heads.write(name, { ...head, unknown: groups === undefined }, ttlMs)
    },

    async remove(name: string): Promise<void> {
      const head = await heads.find(name)
      await heads.remove(name)
      if (head !== undefined) await bodies.remove(bodyName(name, head.id))
    },
  }
}

export function listName(list: ListRef, scope: string): string {
  return JSON.stringify(list.kind === 'me' ? [scope, 'me', list.user] : [scope, 'directory'])
}
