import { LRUCache } from 'lru-cache'
import type { z } from 'zod'
import type { Seal } from '../../crypto/keys.ts'
import { createSealedRecords, jsonCodec, type RecordCodec } from '../../store/sealed-records.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'

export interface PamRecordsOptions<Value extends object>
  extends Pick<PamDeps, 'store' | 'names' | 'log' | 'metrics'> {
  readonly kind: 'pam-token' | 'pam-groups'
  readonly seal: Seal
  readonly schema: z.ZodType<Value>
  /** How many records a process keeps in its memory if they cannot be written. Default: none. */
  readonly maxUnwritten?: number
}

export type PamRecords<Value extends object> = ReturnType<typeof createPamRecords<Value>>

/**
 * Sealed records that all replicas share. A record of a newer version is never overwritten. It is handled as if the store were
 * out of reach, so each process of the older version uses its own memory.
 */
export function createPamRecords<Value extends object>(options: PamRecordsOptions<Value>) {
  const keyOf = (hmac: string) => `gatehouse:${options.kind}:${hmac}`
  const records = createSealedRecords<Value>({ ...options, keyOf, codec: versionedCodec(options) })
  const read = async (name: string) => (await records.read(name))?.value
  const { maxUnwritten } = options
  const unwritten =
    maxUnwritten === undefined ? undefined : new LRUCache<string, Value>({ max: maxUnwritten })

  return {
    /** Throws if the store is out of reach. */
    read,
    /** undefined if there is no record, or the store is out of reach. */
    async find(name: string): Promise<Value | undefined> {
      const stored = await read(name).catch(() => undefined)
      return stored ?? unwritten?.get(name)
    },

    /** False if the store is out of reach. */
    async write(name: string, value: Value, ttlMs: number): Promise<boolean> {
      unwritten?.delete(name)
      try {
        await records.read(name) // throws if a newer version wrote it
        await records.write(name, value, ttlMs)
        return true
      } catch {
        unwritten?.set(name, value)
        return false
      }
    },

    /** If the store is out of reach, the record stays until it expires. */
    async remove(name: string): Promise<void> {
      unwritten?.delete(name)
      await records.remove(name).catch(() => false)
    },

    async removeIf(name: string, matches: (value: Value) => boolean): Promise<void> {
      const record = await records.read(name).catch(() => undefined)
      if (record !== undefined && matches(record.value)) await records.removeIf(record).catch(() => false)
    },
  }
}

const VERSION = 1
const HEAD = `v${VERSION}\n`

/** The version in the first line, then JSON. */
function versionedCodec<Value extends object>({
  schema,
  kind,
  log,
  metrics,
}: PamRecordsOptions<Value>): RecordCodec<Value> {
  const json = jsonCodec(schema)
  return {
    encode: (value) => HEAD + json.encode(value),
    decode(text) {
      if (text.startsWith(HEAD)) return json.decode(text.slice(HEAD.length))
      if (Number(/^v(\d{1,9})\n/.exec(text)?.[1]) > VERSION) {
        metrics.unreadableRecords.inc({ kind })
        log.warn('unreadable_record', { name: kind })
        throw new Error('the record was written by a newer version')
      }
      return undefined
    },
  }
}
