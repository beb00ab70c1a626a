import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Seal } from '../../crypto/keys.ts'
import { createPamRecords } from '../shared/pam-records.ts'
import { type Group, type ListOf, StoredGroups } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PageRead } from './pages.ts'

/** What is known of a list. Times are the API's. */
export type CachedList = KnownList | MissingList

export interface KnownList extends ListHead {
  /** By id, without deleted groups. */
  readonly groups: readonly Group[]
  readonly isPurged?: undefined
}

/** PAM knows no such user. Or the list was purged; only its age is kept, so that a purge does not let it be read more often. */
export interface MissingList extends ListHead {
  readonly groups?: undefined
  readonly isPurged?: true
}

export interface ListHead {
  readonly id: string
  readonly fetchedAtMs: number
  /** The generation in which its read began; of a purged list, the generation that has begun since. */
  readonly generation: string
  /** The refresh interval for its number of pages; undefined: an older version read it. */
  readonly refreshAfterMs?: number | undefined
  /** The same time as `fetchedAtMs` on this process's monotonic clock, if this process has read it. It is not stored. */
  readonly readAtMs?: number | undefined
}

/** The generation of a list that was not purged. */
export const NOT_PURGED = ''

/** In the store, a list is two records: a small head (which read it is, and how old), and its groups under the id of the head. */
export interface ListRecords {
  /** Throws if the store is out of reach. */
  readHead(name: string): Promise<StoredHead | undefined>
  /** The list of this head. Throws if the store is out of reach. */
  read(name: string, head: StoredHead): Promise<CachedList | undefined>
  write(name: string, list: CachedList, ttlMs: number): Promise<void>
  remove(name: string): Promise<void>
}

const StoredHead = z.object({
  id: z.string(),
  fetchedAtMs: z.number(),
  unknown: z.boolean(),
  refreshAfterMs: z.number().optional(),
  generation: z.string().default(NOT_PURGED), // an older version wrote none
})
export type StoredHead = z.output<typeof StoredHead>

export function createListRecords(
  deps: Pick<PamDeps, 'store' | 'names' | 'log' | 'metrics'>,
  seal: Seal,
): ListRecords {
  const options = { ...deps, kind: 'pam-groups', seal } as const
  const heads = createPamRecords({ ...options, schema: StoredHead })
  const bodies = createPamRecords<readonly Group[]>({ ...options, schema: StoredGroups })
  const bodyName = (name: string, id: string) => `${name} ${id}`

  return {
    readHead: heads.read,

    async read(name, { unknown, ...head }) {
      if (unknown) return head
      const groups = await bodies.read(bodyName(name, head.id))
      return groups && { ...head, groups }
    },

    async write(name, { groups, isPurged: _, readAtMs: __, ...head }, ttlMs) {
      const isWritten = groups === undefined || (await bodies.write(bodyName(name, head.id), groups, ttlMs))
      if (isWritten) await heads.write(name, { ...head, unknown: groups === undefined }, ttlMs)
    },

    async remove(name) {
      const head = await heads.find(name)
      await heads.remove(name)
      if (head !== undefined) await bodies.remove(bodyName(name, head.id))
    },
  }
}

/**
 * Lists that were read in part when a failure came, such as a closed rate-limit gate. They are kept in the store, so that any
 * replica can continue them, and in this process's memory if the store is out of reach.
 */
export interface InterruptedReads {
  /** undefined: there is none, or it began too long ago. */
  find(list: string, beganAfterMs: number): Promise<PageRead | undefined>
  keep(list: string, read: PageRead): Promise<void>
  drop(list: string): Promise<void>
}

const MAX_IN_MEMORY = 100

export function createInterruptedReads(
  deps: Pick<PamDeps, 'store' | 'names' | 'log' | 'metrics' | 'tunables'>,
  seal: Seal,
): InterruptedReads {
  const records = createPamRecords<PageRead>({ ...deps, kind: 'pam-groups', seal, schema: PageRead })
  const memory = new LRUCache<string, PageRead>({ max: MAX_IN_MEMORY })

  return {
    async find(list, beganAfterMs) {
      const read = (await records.find(interruptedName(list))) ?? memory.get(list)
      return read !== undefined && read.beganAtMs > beganAfterMs ? read : undefined
    },

    async keep(list, read) {
      memory.delete(list)
      if (!(await records.write(interruptedName(list), read, deps.tunables.lists.staleMs)))
        memory.set(list, read)
    },

    async drop(list) {
      memory.delete(list)
      await records.remove(interruptedName(list))
    },
  }
}

/** As older versions name it. */
function interruptedName(list: string): string {
  return `${list} paused`
}

export function nameOf(list: ListOf, scope: string): string {
  return JSON.stringify(list.kind === 'me' ? [scope, 'me', list.user] : [scope, 'directory'])
}
