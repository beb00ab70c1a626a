import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { ExpiringValues } from '../shared/expiring-values.ts'
import type { ListRef } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { getAgeMs } from './freshness.ts'
import {
  type CachedList,
  type GroupList,
  INITIAL_GENERATION,
  type ListHead,
  type ListRecords,
  listName,
  type MissingList,
} from './list-records.ts'
import type { TeamDisabled } from './team-disabled.ts'

/** The result of a read. Without groups: PAM does not know the user. */
export type ReadResult =
  | Omit<GroupList, 'id' | 'readAtMs'>
  | Omit<MissingList, 'id' | 'readAtMs' | 'isPurged'>

export interface GroupListsOptions extends Pick<PamDeps, 'scope' | 'clock' | 'monotonic' | 'tunables'> {
  readonly records: ListRecords
  /** The generations of purged lists. */
  readonly generations: Pick<ExpiringValues, 'get' | 'set'>
  readonly team: Pick<TeamDisabled, 'check'>
  /** How long a list can be used, by kind. */
  readonly keptMs: Readonly<Record<ListRef['kind'], number>>
  readonly confirmMs: number
  readonly maxMemoryBytes: number
}

export type GroupLists = ReturnType<typeof createGroupLists>

/**
 * Lists in the store, for all replicas, and in this process's memory. A list in memory is used for `confirmMs`. Then the head in
 * the store is read again, so a list that another replica has read or purged is found within that time.
 */
export function createGroupLists(options: GroupListsOptions) {
  const { records, scope, monotonic, tunables, keptMs, confirmMs } = options
  const memory: Memory = new LRUCache({ maxSize: options.maxMemoryBytes, sizeCalculation: sizeInBytes })
  const state = { ...options, memory }

  return {
    /** @throws PamFailure `disabled_team` */
    async get(list: ListRef): Promise<CachedList | undefined> {
      const entry = memory.get(listName(list, scope))
      const isConfirmed = entry !== undefined && monotonic() - entry.confirmedAt < confirmMs
      return validate(isConfirmed ? entry.cached : await findInStore(list, state), options)
    },
    getFromStore: async (list: ListRef) => validate(await findInStore(list, state), options),

    async put(list: ListRef, read: ReadResult): Promise<CachedList> {
      const name = listName(list, scope)
      const cached: CachedList = {
        id: randomUUID(),
        ...read,
        readAtMs: monotonic() - getAgeMs(read, options),
      }
      if (isCurrent(cached, await getGeneration(list, options))) remember(name, cached, state)
      await records.write(
        name,
        cached,
        read.groups === undefined ? tunables.unknownUserMs : keptMs[list.kind],
      )
      return cached
    },

    getGeneration: (list: ListRef) => getGeneration(list, options),
    purge: (list: ListRef) => purge(list, state),
    /** Purges the list, and deletes its age. */
    async remove(list: ListRef): Promise<void> {
      await purge(list, state)
      await records.remove(listName(list, scope))
    },
    clearMemory: () => memory.clear(),
  }
}

/** Starts a new generation: all that any replica has read before, or is reading now, is invalid. */
async function purge(list: ListRef, { generations, scope, keptMs, memory }: State): Promise<void> {
  await generations.set(listName(list, scope), randomUUID(), keptMs[list.kind])
  memory.delete(listName(list, scope)) // last: a read may have stored its list while the generation was set
}

async function validate(
  cached: CachedList | undefined,
  { team, clock }: GroupListsOptions,
): Promise<CachedList | undefined> {
  const invalidBeforeMs = await team.check()
  if (cached === undefined || cached.fetchedAtMs <= invalidBeforeMs) return undefined
  return isFromFuture(cached, clock.now()) ? undefined : cached
}

/** A list from the near future is new. One from the far future was dated by a wrong clock. */
function isFromFuture({ fetchedAtMs, readAtMs }: CachedList, nowMs: number): boolean {
  return readAtMs === undefined && fetchedAtMs > nowMs + MAX_CLOCK_SKEW_MS
}
const MAX_CLOCK_SKEW_MS = 5000

interface MemoryEntry {
  readonly cached: CachedList
  confirmedAt: number
}
type Memory = LRUCache<string, MemoryEntry>
type State = GroupListsOptions & { readonly memory: Memory }

/** Strings need about twice their JSON in memory, and the response that is made from them needs as much again. */
function sizeInBytes({ cached }: MemoryEntry): number {
  return 512 + 3 * JSON.stringify(cached.groups ?? '').length
}

/** Reads only the head if the list in memory is still the current one. */
async function findInStore(list: ListRef, state: State): Promise<CachedList | undefined> {
  const { records, memory, monotonic, scope } = state
  const name = listName(list, scope)
  const entry = memory.get(name)
  try {
    const [head, generation] = await Promise.all([records.readHead(name), getGeneration(list, state)])
    const newer = replacementOf(entry, name, memory)
    if (newer !== undefined) return newer
    if (head !== undefined && head.id === entry?.cached.id && isCurrent(head, generation)) {
      entry.confirmedAt = monotonic()
      return entry.cached
    }
    memory.delete(name)
    if (!isCurrent(head ?? NEVER_READ, generation))
      return { ...(head ?? NEVER_READ), generation, isPurged: true }
    const found = head && (await records.read(name, head))
    return replacementOf(undefined, name, memory) ?? (found && remember(name, found, state))
  } catch {
    return entry?.cached // the store is out of reach
  }
}

const NEVER_READ: ListHead = { id: '', fetchedAtMs: 0, generation: INITIAL_GENERATION }

/** A list that was put into memory during a read of the store is newer than the one in the store. */
function replacementOf(
  before: MemoryEntry | undefined,
  name: string,
  memory: Memory,
): CachedList | undefined {
  const now = memory.get(name)
  return now === before ? undefined : now?.cached
}

function remember(name: string, cached: CachedList, { memory, monotonic }: State): CachedList {
  memory.set(name, { cached, confirmedAt: monotonic() })
  return cached
}

async function getGeneration(list: ListRef, { generations, scope }: GroupListsOptions): Promise<string> {
  return (await generations.get(listName(list, scope))) ?? INITIAL_GENERATION
}

/** When the generation of a purge has expired, everything that was read before it has expired, too. */
function isCurrent({ generation }: Pick<ListHead, 'generation'>, current: string): boolean {
  return current === INITIAL_GENERATION || generation === current
}
