import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { parseStored } from '../../store/stored-json.ts'
import type { SealedRecords } from '../shared/sealed-records.ts'
import type { SharedMarks } from '../shared/shared-marks.ts'
import type { ListOf } from '../upstream/group.ts'
import { type Group, parseGroup } from '../upstream/group.ts'

/** A list as it was read once, or the memory that there is no such person, or that it was purged. Times are the API's. */
export type CachedList = KnownList | UnknownPerson | PurgedList

export interface KnownList extends ListHead {
  /** Living groups, by id. */
  readonly groups: readonly Group[]
  readonly isPurged?: undefined
}

export interface UnknownPerson extends ListHead {
  readonly groups?: undefined
  readonly isPurged?: undefined
}

/** Its age is kept: a purge does not let a list be read more often. */
export interface PurgedList extends ListHead {
  readonly groups?: undefined
  readonly isPurged: true
}

interface ListHead {
  readonly id: string
  readonly fetchedAtMs: number
  /** The generation in which its read began; of a purged list, the one that has begun since. */
  readonly generation: string
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
  /** Of a read that begins now. */
  generation(list: ListOf): Promise<string>
  /** Begins a new generation: what was read before, or is being read by any replica, is void. */
  purge(list: ListOf): Promise<void>
  /** Purges it, and forgets its age. */
  remove(list: ListOf): Promise<void>
  clearMemory(): void
  nameOf(list: ListOf): string
  lockKeyOf(list: ListOf): string
}

export interface GroupListsParts {
  readonly records: SealedRecords
  /** Of lists that were purged; the generation of the others is empty. */
  readonly generations: Pick<SharedMarks, 'get' | 'set'>
  /** Names the team and its API in the keyed hashes. */
  readonly scope: string
  /** How long a list is of any use, by kind; and the memory of an unknown person. */
  readonly keptMs: Readonly<Record<ListOf['kind'], number>>
  readonly unknownUserMs: number
  readonly confirmMs: number
  readonly maxMemoryBytes: number
  readonly monotonic: () => number
}

interface Held {
  readonly cached: CachedList
  readonly bytes: number
  confirmedAt: number
}

export function createGroupLists(parts: GroupListsParts): GroupLists {
  const { records, generations, scope, keptMs, unknownUserMs, confirmMs, monotonic } = parts
  const memory = new LRUCache<string, Held>({
    maxSize: parts.maxMemoryBytes,
    sizeCalculation: ({ bytes }) => bytes,
  })

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
      if (isCurrent(cached, await generation(list))) remember(name, cached, body.length)
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
      if (isCurrent(cached, await generation(list))) remember(nameOf(list), cached, 0)
      try {
        await records.write(nameOf(list), headOf(cached), unknownUserMs)
      } catch {
        // The store is away: this process knows.
      }
    },

    generation,
    purge,

    async remove(list) {
      const name = nameOf(list)
      await purge(list)
      try {
        const head = await records.read(name, parseHead)
        await records.remove(name)
        if (head !== undefined) await records.remove(bodyName(name, head.value.id))
      } catch {
        // The store is away: what lies there is void.
      }
    },

    clearMemory: () => memory.clear(),
  }

  function nameOf(list: ListOf): string {
    return JSON.stringify(list.kind === 'me' ? [scope, 'me', list.user] : [scope, 'directory'])
  }

  async function generation(list: ListOf): Promise<string> {
    return (await generations.get(nameOf(list))) ?? NOT_PURGED
  }

  /** The memory last: a read that has found its generation current by then is in it already. */
  async function purge(list: ListOf): Promise<void> {
    const name = nameOf(list)
    await generations.set(name, randomUUID(), keptMs[list.kind])
    memory.delete(name)
  }

  async function lookAgain(list: ListOf): Promise<CachedList | undefined> {
    const name = nameOf(list)
    const held = memory.get(name)
    try {
      const [record, current] = await Promise.all([records.read(name, parseHead), generation(list)])
      const since = heldSince(name, held)
      if (since !== undefined) return since
      const head = record?.value ?? NEVER_READ
      if (isCurrent(head, current) && head.id === held?.cached.id) {
        held.confirmedAt = monotonic()
        return held.cached
      }
      memory.delete(name)
      if (!isCurrent(head, current)) return { ...ageOf(head), generation: current, isPurged: true }
      return record === undefined ? undefined : await load(name, head)
    } catch {
      return held?.cached // the store is away: what this process has, by its age
    }
  }

  /** What this process has been given while it was reading is newer than what it read. */
  function heldSince(name: string, before: Held | undefined): CachedList | undefined {
    const now = memory.get(name)
    return now === before ? undefined : now?.cached
  }

  async function load(name: string, head: Head): Promise<CachedList | undefined> {
    const age = ageOf(head)
    if (head.unknown) return remember(name, age, 0)
    const body = (await records.read(bodyName(name, head.id), parseBody))?.value
    const since = heldSince(name, undefined)
    if (since !== undefined) return since
    if (body === undefined) return undefined
    return remember(name, { ...age, groups: body.groups }, body.chars)
  }

  function remember(name: string, cached: CachedList, chars: number): CachedList {
    // Strings in the heap take about twice their JSON, and what is rendered from them once more.
    memory.set(name, { cached, bytes: 512 + 3 * chars, confirmedAt: monotonic() })
    return cached
  }
}

const NOT_PURGED = ''

/** A mark has expired when all that is older than it has. */
function isCurrent(head: Pick<ListHead, 'generation'>, current: string): boolean {
  return current === NOT_PURGED || head.generation === current
}

function ageOf({ unknown: _, ...age }: Head): ListHead {
  return age
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
  generation: z.string().default(NOT_PURGED), // an older version wrote none
})
type Head = z.output<typeof Head>
const NEVER_READ: Head = { id: '', fetchedAtMs: 0, unknown: true, generation: NOT_PURGED }

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
