import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Seal } from '../../crypto/keys.ts'
import { createPamRecords } from '../shared/pam-records.ts'
import { type Group, type ListRef, StoredGroups } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { ReadProgress } from './pages.ts'

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

export interface ListHead {
  readonly id: string
  readonly fetchedAtMs: number
  /** The generation in which the read started. For a purged list, the generation that the purge started. */
  readonly generation: string
  /** PAM has disabled the user, who therefore has no groups. */
  readonly isDisabled?: boolean | undefined
  /** The refresh interval for its number of pages; undefined: an older version read it. */
  readonly refreshAfterMs?: number | undefined
  /** `fetchedAtMs` on this process's monotonic clock, if this process has read the list. It is not stored. */
  readonly readAtMs?: number | undefined
}

/** The generation of a list that was not purged. */
export const INITIAL_GENERATION = ''

const StoredHead = z.object({
  id: z.string(),
  fetchedAtMs: z.number(),
  unknown: z.boolean(),
  refreshAfterMs: z.number().optional(),
  isDisabled: z.boolean().optional(),
  generation: z.string().default(INITIAL_GENERATION), // an older version wrote none
})
export type StoredHead = z.output<typeof StoredHead>

export type ListRecords = ReturnType<typeof createListRecords>

/** A list is stored as two records: a small head, which identifies the read, and the groups, under the id in the head. */
export function createListRecords(deps: Pick<PamDeps, 'store' | 'names' | 'log' | 'metrics'>, seal: Seal) {
  const options = { ...deps, kind: 'pam-groups', seal } as const
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

const MAX_IN_MEMORY = 100

export type InterruptedReads = ReturnType<typeof createInterruptedReads>

/**
 * The progress of reads that a failure interrupted, such as a closed rate-limit gate. It is kept in the store, so that any replica
 * can continue, or in this process's memory if the store is out of reach.
 */
export function createInterruptedReads(
  deps: Pick<PamDeps, 'store' | 'names' | 'log' | 'metrics' | 'tunables'>,
  seal: Seal,
) {
  const schema = ReadProgress
  const records = createPamRecords<ReadProgress>({ ...deps, kind: 'pam-groups', seal, schema })
  const memory = new LRUCache<string, ReadProgress>({ max: MAX_IN_MEMORY })
  const recordName = (name: string) => `${name} paused` // as in older versions

  return {
    /** undefined: there is none, or it started too long ago. */
    async find(name: string, startedAfterMs: number): Promise<ReadProgress | undefined> {
      const read = (await records.find(recordName(name))) ?? memory.get(name)
      return read !== undefined && read.beganAtMs > startedAfterMs ? read : undefined
    },

    async save(name: string, read: ReadProgress): Promise<void> {
      memory.delete(name)
      const isStored = await records.write(recordName(name), read, deps.tunables.lists.staleMs)
      if (!isStored) memory.set(name, read)
    },

    async remove(name: string): Promise<void> {
      memory.delete(name)
      await records.remove(recordName(name))
    },
  }
}

export function listName(list: ListRef, scope: string): string {
  return JSON.stringify(list.kind === 'me' ? [scope, 'me', list.user] : [scope, 'directory'])
}
