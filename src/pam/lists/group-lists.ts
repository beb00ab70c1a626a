import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { SharedValues } from '../shared/shared-values.ts'
import type { ListOf } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { ageOf } from './freshness.ts'
import {
  type CachedList,
  type KnownList,
  type ListHead,
  type ListRecords,
  type MissingList,
  NOT_PURGED,
  nameOf,
} from './list-records.ts'
import type { TeamDisabled } from './team-disabled.ts'

/** What a read found; without groups: no such user. */
export type ReadResult =
  | Omit<KnownList, 'id' | 'readAtMs'>
  | Omit<MissingList, 'id' | 'readAtMs' | 'isPurged'>

/**
 * Lists in the store, for all replicas, and in this process's memory. Memory is relied on for `confirmMs`, then the head is read
 * again: a list that another replica has read or purged is noticed within that time.
 */
export interface GroupLists {
  /** Throws `disabled_team` (PamFailure). */
  look(list: ListOf): Promise<CachedList | undefined>
  /** The same, but always from the store. */
  lookInStore(list: ListOf): Promise<CachedList | undefined>
  put(list: ListOf, read: ReadResult): Promise<CachedList>
  /** The generation of a read that begins now. */
  generation(list: ListOf): Promise<string>
  /** Begins a new generation: everything that was read before, or is being read by any replica, is void. */
  purge(list: ListOf): Promise<void>
  /** Purges the list, and forgets its age. */
  remove(list: ListOf): Promise<void>
  clearMemory(): void
}

export interface GroupListsOptions extends Pick<PamDeps, 'scope' | 'clock' | 'monotonic' | 'tunables'> {
  readonly records: ListRecords
  /** Of lists that were purged; the generation of the others is empty. */
  readonly generations: Pick<SharedValues, 'get' | 'set'>
  readonly team: Pick<TeamDisabled, 'check'>
  /** How long a list can be used, by kind. */
  readonly keptMs: Readonly<Record<ListOf['kind'], number>>
  readonly confirmMs: number
  readonly maxMemoryBytes: number
}

export function createGroupLists(options: GroupListsOptions): GroupLists {
  const { records, generations, scope, clock, monotonic, tunables, team, keptMs, confirmMs } = options
  const memory: Memory = new LRUCache({ maxSize: options.maxMemoryBytes, sizeCalculation: bytesOf })
  const state = { ...options, memory }

  async function usable(cached: CachedList | undefined): Promise<CachedList | undefined> {
    const voidBeforeMs = await team.check()
    if (cached === undefined || cached.fetchedAtMs <= voidBeforeMs) return undefined
    return isFromFuture(cached, clock.now()) ? undefined : cached
  }

  /** Memory comes last: a read that has found its generation current by then is in it already. */
  async function purge(list: ListOf): Promise<void> {
    await generations.set(nameOf(list, scope), randomUUID(), keptMs[list.kind])
    memory.delete(nameOf(list, scope))
  }

  return {
    async look(list) {
      const held = memory.get(nameOf(list, scope))
      const isConfirmed = held !== undefined && monotonic() - held.confirmedAt < confirmMs
      return usable(isConfirmed ? held.cached : await findInStore(list, state))
    },
    lookInStore: async (list) => usable(await findInStore(list, state)),

    async put(list, read) {
      const cached: CachedList = { id: randomUUID(), ...read, readAtMs: monotonic() - ageOf(read, options) }
      if (isCurrent(cached, await generationOf(list, options))) remember(nameOf(list, scope), cached, state)
      const ttlMs = read.groups === undefined ? tunables.unknownUserMs : keptMs[list.kind]
      await records.write(nameOf(list, scope), cached, ttlMs)
      return cached
    },

    purge,
    generation: (list) => generationOf(list, options),
    async remove(list) {
      await purge(list)
      await records.remove(nameOf(list, scope))
    },
    clearMemory: () => memory.clear(),
  }
}

/** A list from the near future is new; one from further away was dated by a wrong clock. */
function isFromFuture({ fetchedAtMs, readAtMs }: CachedList, nowMs: number): boolean {
  return readAtMs === undefined && fetchedAtMs > nowMs + FUTURE_MS
}
const FUTURE_MS = 5000

interface Held {
  readonly cached: CachedList
  confirmedAt: number
}
type Memory = LRUCache<string, Held>
type State = GroupListsOptions & { readonly memory: Memory }

/** Strings take about twice their JSON in memory, and the response that is made from them as much again. */
function bytesOf({ cached }: Held): number {
  return 512 + 3 * JSON.stringify(cached.groups ?? '').length
}

/** If the head in the store is still that of the list in memory, only the head is read. */
async function findInStore(list: ListOf, state: State): Promise<CachedList | undefined> {
  const { records, memory, monotonic, scope } = state
  const name = nameOf(list, scope)
  const held = memory.get(name)
  try {
    const [head, current] = await Promise.all([records.readHead(name), generationOf(list, state)])
    const newer = putAfter(held, name, memory)
    if (newer !== undefined) return newer
    if (head !== undefined && head.id === held?.cached.id && isCurrent(head, current)) {
      held.confirmedAt = monotonic()
      return held.cached
    }
    memory.delete(name)
    if (!isCurrent(head ?? NEVER_READ, current))
      return { ...(head ?? NEVER_READ), generation: current, isPurged: true }
    const found = head && (await records.read(name, head))
    return putAfter(undefined, name, memory) ?? (found && remember(name, found, state))
  } catch {
    return held?.cached // the store is out of reach
  }
}

const NEVER_READ: ListHead = { id: '', fetchedAtMs: 0, generation: NOT_PURGED }

/** A list that was put into memory while the store was read is newer than what was read. */
function putAfter(before: Held | undefined, name: string, memory: Memory): CachedList | undefined {
  const now = memory.get(name)
  return now === before ? undefined : now?.cached
}

function remember(name: string, cached: CachedList, { memory, monotonic }: State): CachedList {
  memory.set(name, { cached, confirmedAt: monotonic() })
  return cached
}

async function generationOf(list: ListOf, { generations, scope }: GroupListsOptions): Promise<string> {
  return (await generations.get(nameOf(list, scope))) ?? NOT_PURGED
}

/** When the generation of a purge has expired, everything that was read before it has expired, too. */
function isCurrent({ generation }: Pick<ListHead, 'generation'>, current: string): boolean {
  return current === NOT_PURGED || generation === current
}
