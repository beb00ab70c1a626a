import { LRUCache } from 'lru-cache'
import { v4 as uuid } from 'uuid'
import { combineRoles } from '../roles.ts'
import type { ListRef } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { ListPages } from './pages.ts'

/**
 * A list with all its pages. It is the same object as long as the list is the same, so that results
 * can be cached with it.
 */
export interface GroupList extends Readonly<Omit<ListPages, 'next'> & ReturnType<typeof combineRoles>> {
  /** `beganAtMs` on this process's monotonic clock: the clocks of the API's servers may differ. */
  readonly beganAt: number
}

/** Where a list is stored, and the list if there is one. */
export interface Place {
  /** The record's name. */
  readonly name: string
  readonly list: GroupList | undefined
}

interface Remembered extends Place {
  readonly list: GroupList
  confirmedAt: number
}

/** How long a process uses its memory before it checks the store for a purge. */
const CONFIRM_MS = 1000
const MAX_MEMORY_BYTES = 64 * 1024 * 1024
/** Longer than anything that was read before a purge is kept. */
const GENERATION_MS = 86_400_000
const TEAM = 'team'

export type ListStore = ReturnType<typeof createListStore>

/**
 * Lists in the store, for all replicas, and in this process's memory. A record's name has the
 * generations of the list and of the team. A purge begins a new generation, so what any replica has
 * read before, or is reading now, is not found any more.
 */
export function createListStore(deps: PamDeps) {
  const { monotonic, tunables } = deps
  const records = deps.recordsOf('pamGroups', ListPages)
  const memory = createMemory(deps)
  const generations = createGenerations(deps)

  /** From the store, unless the list in memory is that one, or was put there meanwhile. */
  async function load(ref: ListRef, name: string): Promise<Place> {
    const known = memory.get(ref)
    const stored = (await records.read(name))?.value
    const now = memory.get(ref)
    const isNew = stored?.beganAtMs !== now?.list.beganAtMs && now === known
    if (now?.name === name && !isNew) return memory.confirm(now)
    return stored === undefined ? { name, list: undefined } : memory.put(ref, name, stored)
  }

  return {
    load,
    async find(ref: ListRef): Promise<Place> {
      const known = memory.get(ref)
      if (known !== undefined && monotonic() - known.confirmedAt < CONFIRM_MS) return known
      const name = await generations.nameOf(ref)
      // Until it is old, no replica reads it again.
      const isFresh = known?.name === name && monotonic() - known.list.beganAt <= tunables.lists.freshMs
      return isFresh ? memory.confirm(known) : load(ref, name)
    },
    /** Stores a list that this process has read. */
    async put(ref: ListRef, name: string, pages: ListPages, ttlMs: number): Promise<GroupList> {
      // it may have been purged during the read
      const { list } = memory.put(ref, name, pages, Number.NEGATIVE_INFINITY)
      await records.write(name, pages, ttlMs)
      return list
    },
    async purge(ref: ListRef): Promise<void> {
      await records.remove(await generations.nameOf(ref)) // it is not found any more
      await generations.begin(idOf(ref))
      memory.delete(ref)
    },
    purgeAll: () => generations.begin(TEAM).then(memory.clear),
  }
}

function createGenerations({ store, scope, keyOf }: PamDeps) {
  const keyOfId = (id: string) => keyOf('pamGeneration', [id])
  return {
    begin: (id: string) => store.set(keyOfId(id), uuid(), GENERATION_MS),
    /** The name of the list's record. */
    async nameOf(ref: ListRef): Promise<string> {
      const current = await Promise.all([TEAM, idOf(ref)].map((id) => store.get(keyOfId(id))))
      return JSON.stringify([scope, idOf(ref), ...current])
    },
  }
}

function createMemory({ clock, monotonic }: PamDeps) {
  const lists = new LRUCache<string, Remembered>({
    maxSize: MAX_MEMORY_BYTES,
    sizeCalculation: ({ list }) => sizeInBytes(list),
  })

  return {
    get: (ref: ListRef) => lists.get(idOf(ref)),
    put(ref: ListRef, name: string, pages: ListPages, confirmedAt = monotonic()): Remembered {
      const beganAt = monotonic() - Math.max(0, clock.now() - pages.beganAtMs)
      const roles = combineRoles(pages.groups.map((group) => group.roles))
      const remembered = { name, list: { ...pages, ...roles, beganAt }, confirmedAt }
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

function idOf(ref: ListRef): string {
  return ref.kind === 'me' ? `me ${ref.user}` : 'directory'
}

/**
 * Strings need about twice their JSON in memory, and the response that is made from them needs as
 * much again.
 */
function sizeInBytes({ groups }: GroupList): number {
  return 512 + 3 * JSON.stringify(groups).length
}
