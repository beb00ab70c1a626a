import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { parseStored } from '../store/stored-json.ts'
import { type Group, parseGroup } from './group.ts'
import type { ListOf } from './pam-client.ts'
import type { PausedReads } from './paused-reads.ts'
import type { SealedRecords } from './sealed-records.ts'

/** A list as it was read once, or the memory that there is no such person. Times are the API's. */
export type CachedList = KnownList | UnknownPerson

export interface KnownList extends ListHead {
  /** Living groups, by id. */
  readonly groups: readonly Group[]
}

export interface UnknownPerson extends ListHead {
  readonly groups?: undefined
}

interface ListHead {
  readonly id: string
  readonly fetchedAtMs: number
  /** What its number of pages asks for; undefined: read by an older version. */
  readonly refreshAfterMs?: number | undefined
}

/**
 * Where lists are kept: sealed in the store for all replicas, and in this process's memory. A list lies in two
 * records: a small head (which one is it, how old) and its body under the head's id. Memory is trusted for
 * `confirmMs`, then the head is looked at: what another replica renewed or purged shows here within that time.
 */
export interface GroupLists {
  look(list: ListOf): Promise<CachedList | undefined>
  /** The same, whatever memory says. */
  lookAgain(list: ListOf): Promise<CachedList | undefined>
  put(list: ListOf, read: Omit<KnownList, 'id'>): Promise<KnownList>
  putUnknown(list: ListOf, read: Omit<UnknownPerson, 'id'>): Promise<void>
  /** Purges it, and the pages of an interrupted read; what was fetched before that time is void, wherever it is stored. */
  remove(list: ListOf, voidBeforeMs: number): Promise<void>
  clearMemory(): void
  nameOf(list: ListOf): string
  lockKeyOf(list: ListOf): string
}

export interface GroupListsParts {
  readonly records: SealedRecords
  readonly paused: Pick<PausedReads, 'drop'>
  /** Names the team and its API in the keyed hashes. */
  readonly scope: string
  /** How long a list is of any use, by kind; and the memory of an unknown person. */
  readonly keptMs: Readonly<Record<ListOf['kind'], number>>
  readonly unknownUserMs: number
  readonly confirmMs: number
  readonly maxMemoryBytes: number
  readonly monotonic: () => number
}

/** Purges that a store which was away did not take. */
const MAX_REMOVED = 10_000 // a maxSize: with max, an LRUCache takes the memory for all of them at once

interface Held {
  readonly cached: CachedList
  readonly bytes: number
  confirmedAt: number
}

export function createGroupLists(parts: GroupListsParts): GroupLists {
  const { records, paused, scope, keptMs, unknownUserMs, confirmMs, monotonic } = parts
  const memory = new LRUCache<string, Held>({
    maxSize: parts.maxMemoryBytes,
    sizeCalculation: ({ bytes }) => bytes,
  })
  const removed = new LRUCache<string, number>({ maxSize: MAX_REMOVED, sizeCalculation: () => 1 })

  return {
    nameOf,
    lockKeyOf: (list) => records.keyBeside('lock:pam-groups', nameOf(list)),

    async look(list) {
      const held = memory.get(nameOf(list))
      if (held !== undefined && monotonic() - held.confirmedAt < confirmMs) return held.cached
      return lookAgain(list)
    },
    lookAgain,

    async put(list, read) {
      const cached: KnownList = { id: randomUUID(), ...read }
      const body = JSON.stringify(read.groups)
      const name = nameOf(list)
      remember(name, cached, body.length)
      try {
        await records.write(bodyName(name, cached.id), body, keptMs[list.kind])
        await records.write(name, headOf(cached), keptMs[list.kind])
      } catch {
        // The store is away: this process has it.
      }
      return cached
    },

    async putUnknown(list, read) {
      const cached: UnknownPerson = { id: randomUUID(), ...read }
      remember(nameOf(list), cached, 0)
      try {
        await records.write(nameOf(list), headOf(cached), unknownUserMs)
      } catch {
        // The store is away: this process knows.
      }
    },

    async remove(list, voidBeforeMs) {
      const name = nameOf(list)
      memory.delete(name)
      await paused.drop(name)
      try {
        const head = await records.read(name, parseHead)
        await records.remove(name)
        if (head !== undefined) await records.remove(bodyName(name, head.value.id))
      } catch {
        removed.set(name, voidBeforeMs) // the store is away: what lies there is void when it is back
      }
    },

    clearMemory: () => memory.clear(),
  }

  function nameOf(list: ListOf): string {
    return JSON.stringify(list.kind === 'me' ? [scope, 'me', list.user] : [scope, 'directory'])
  }

  async function lookAgain(list: ListOf): Promise<CachedList | undefined> {
    const name = nameOf(list)
    const held = memory.get(name)
    try {
      const head = notRemoved(name, (await records.read(name, parseHead))?.value)
      const since = heldSince(name, held)
      if (since !== undefined) return since
      if (head !== undefined && head.id === held?.cached.id) {
        held.confirmedAt = monotonic()
        return held.cached
      }
      memory.delete(name)
      return head === undefined ? undefined : await load(name, head)
    } catch {
      return held?.cached // the store is away: what this process has, by its age
    }
  }

  /** What this process has been given while it was reading is newer than what it read. */
  function heldSince(name: string, before: Held | undefined): CachedList | undefined {
    const now = memory.get(name)
    return now === before ? undefined : now?.cached
  }

  function notRemoved(name: string, head: Head | undefined): Head | undefined {
    return head !== undefined && head.fetchedAtMs <= (removed.get(name) ?? Number.NEGATIVE_INFINITY)
      ? undefined
      : head
  }

  async function load(name: string, head: Head): Promise<CachedList | undefined> {
    const { id, fetchedAtMs, refreshAfterMs } = head
    if (head.unknown) return remember(name, { id, fetchedAtMs, refreshAfterMs }, 0)
    const body = (await records.read(bodyName(name, id), parseBody))?.value
    const since = heldSince(name, undefined)
    if (since !== undefined) return since
    if (body === undefined) return undefined
    return remember(name, { id, fetchedAtMs, groups: body.groups, refreshAfterMs }, body.chars)
  }

  function remember(name: string, cached: CachedList, chars: number): CachedList {
    // Strings in the heap take about twice their JSON, and what is rendered from them once more.
    memory.set(name, { cached, bytes: 512 + 3 * chars, confirmedAt: monotonic() })
    return cached
  }
}

function bodyName(name: string, id: string): string {
  return `${name} ${id}`
}

function headOf({ groups, ...head }: CachedList): string {
  return JSON.stringify({ ...head, unknown: groups === undefined })
}

const Head = z.object({
  id: z.string(),
  fetchedAtMs: z.number(),
  unknown: z.boolean(),
  refreshAfterMs: z.number().optional(),
})
type Head = z.output<typeof Head>

function parseHead(text: string): Head | undefined {
  return Head.safeParse(parseStored(text)).data
}

function parseBody(text: string): { groups: Group[]; chars: number } | undefined {
  const list = parseStored(text)
  if (!Array.isArray(list)) return undefined
  try {
    return { groups: list.flatMap((item) => parseGroup(item) ?? []), chars: text.length }
  } catch {
    return undefined // a malformed group: nothing that this version wrote
  }
}
