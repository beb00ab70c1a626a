import { LRUCache } from 'lru-cache'
import type { SealedRecords } from '../../store/sealed-records.ts'
import type { ListRef } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import type { ListPages } from './pages.ts'
import { idOf, type Purges } from './purges.ts'

/** A list with all its pages. It is the same object as long as the list is the same, so that results can be cached with it. */
export interface GroupList extends Readonly<Omit<ListPages, 'next'>> {
  /** `beganAtMs` on this process's monotonic clock: the clocks of the API's servers may differ. */
  readonly beganAt: number
}

/** Where a list is stored, and the list if there is one. */
export interface Place {
  /** The record's name. */
  readonly name: string
  readonly list: GroupList | undefined
}

export interface GroupListsOptions extends Pick<PamDeps, 'clock' | 'monotonic' | 'tunables'> {
  readonly records: Pick<SealedRecords<ListPages>, 'read' | 'write' | 'remove'>
  readonly purges: Purges
}

export type GroupLists = ReturnType<typeof createGroupLists>

/** How long a process uses its memory before it checks the store for a purge. */
const CONFIRM_MS = 1000
const MAX_MEMORY_BYTES = 64 * 1024 * 1024

interface Remembered extends Place {
  readonly list: GroupList
  confirmedAt: number
}

/** Lists in the store, for all replicas, and in this process's memory. While the store is out of reach, memory is used. */
export function createGroupLists({ records, purges, ...options }: GroupListsOptions) {
  const { monotonic, tunables } = options
  const memory = createMemory(options)

  /** From the store, unless the list in memory is that one, or was put there meanwhile. */
  async function load(ref: ListRef, name: string): Promise<Place> {
    const known = memory.get(ref)
    const stored = (await records.read(name).catch(() => undefined))?.value
    const now = memory.get(ref)
    const isNew = stored !== undefined && stored.beganAtMs !== now?.list.beganAtMs && now === known
    if (now?.name === name && !isNew) return memory.confirm(now)
    return stored === undefined ? { name, list: undefined } : memory.put(ref, name, stored)
  }

  return {
    load,
    async find(ref: ListRef): Promise<Place> {
      const known = memory.get(ref)
      if (known !== undefined && monotonic() - known.confirmedAt < CONFIRM_MS) return known
      const name = await purges.nameOf(ref)
      // Until it is old, no replica reads it again.
      const isFresh = known?.name === name && monotonic() - known.list.beganAt <= tunables.lists.freshMs
      return isFresh ? memory.confirm(known) : load(ref, name)
    },
    /** Stores a list that this process has read. */
    async put(ref: ListRef, name: string, pages: ListPages, ttlMs: number): Promise<GroupList> {
      const remembered = memory.put(ref, name, pages)
      remembered.confirmedAt = Number.NEGATIVE_INFINITY // it may have been purged during the read
      await records.write(name, pages, ttlMs).catch(() => {})
      return remembered.list
    },
    async purge(ref: ListRef): Promise<void> {
      await records.remove(await purges.nameOf(ref)).catch(() => false) // it is not found any more
      await purges.purge(ref)
      memory.delete(ref) // last: a read may have stored its list while the generation was set
    },
    pauseTeam: () => purges.pauseTeam().then(memory.clear),
  }
}

function createMemory({ clock, monotonic }: Pick<PamDeps, 'clock' | 'monotonic'>) {
  const lists = new LRUCache<string, Remembered>({
    maxSize: MAX_MEMORY_BYTES,
    sizeCalculation: ({ list }) => sizeInBytes(list),
  })

  return {
    get: (ref: ListRef) => lists.get(idOf(ref)),
    put(ref: ListRef, name: string, pages: ListPages): Remembered {
      const beganAt = monotonic() - Math.max(0, clock.now() - pages.beganAtMs)
      const remembered = { name, list: { ...pages, beganAt }, confirmedAt: monotonic() }
      lists.set(idOf(ref), remembered)
      return remembered
    },
    confirm(remembered: Remembered): Remembered {
      remembered.confirmedAt = monotonic()
      return remembered
    },
    delete: (ref: ListRef) => lists.delete(idOf(ref)),
    clear: () => lists.clear(),
  }
}

/** Strings need about twice their JSON in memory, and the response that is made from them needs as much again. */
function sizeInBytes({ groups }: GroupList): number {
  return 512 + 3 * JSON.stringify(groups).length
}
