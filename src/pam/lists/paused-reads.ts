import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { parseStored } from '../../store/stored-json.ts'
import type { SealedRecords } from '../shared/sealed-records.ts'
import type { PageRead } from './pages.ts'

/**
 * Lists that were read in part when a failure came, such as a closed rate-limit gate. They lie sealed in the store, so
 * that whichever replica is asked next continues them; in this process's memory while the store is away.
 */
export interface PausedReads {
  /** undefined: there is none, or it began too long ago. */
  find(list: string, beganAfterMs: number): Promise<PageRead | undefined>
  keep(list: string, read: PageRead): Promise<void>
  drop(list: string): Promise<void>
}

export interface PausedReadsParts {
  readonly records: SealedRecords
  /** How long a read can be continued. */
  readonly keptMs: number
}

/** In memory. */
const MAX_KEPT = 100

export function createPausedReads({ records, keptMs }: PausedReadsParts): PausedReads {
  const memory = new LRUCache<string, PageRead>({ max: MAX_KEPT })

  return {
    async find(list, beganAfterMs) {
      const stored = await records.read(nameOf(list), parseRead).catch(() => undefined) // the store is away
      const read = stored?.value ?? memory.get(list)
      return read !== undefined && read.beganAtMs > beganAfterMs ? read : undefined
    },

    async keep(list, read) {
      memory.delete(list)
      try {
        await records.write(nameOf(list), JSON.stringify(read), keptMs)
      } catch {
        memory.set(list, read) // the store is away: this process continues it
      }
    },

    async drop(list) {
      memory.delete(list)
      await records.remove(nameOf(list)).catch(() => {}) // the store is away: it expires
    },
  }
}

function nameOf(list: string): string {
  return `${list} paused`
}

const StoredRead = z.object({
  beganAtMs: z.number(),
  next: z.string(),
  asked: z.array(z.string()),
  items: z.number(),
  groups: z.array(z.object({ id: z.string(), name: z.string(), roles: z.array(z.string()) })),
  rate: z.object({ limit: z.number(), used: z.number(), resetInMs: z.number() }).optional(),
})

function parseRead(text: string): PageRead | undefined {
  return StoredRead.safeParse(parseStored(text)).data
}
