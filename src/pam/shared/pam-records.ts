import type { z } from 'zod'
import type { Seal } from '../../crypto/keys.ts'
import { createSealedRecords, jsonCodec, type RecordCodec } from '../../store/sealed-records.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'

/**
 * Sealed records that all replicas share. A record of a newer version is never overwritten. It counts as a store that is out of
 * reach, so that each process of the older version relies on its own memory.
 */
export interface PamRecords<Value> {
  /** Throws if the store is out of reach. */
  read(name: string): Promise<Value | undefined>
  /** undefined if the store is out of reach, too. */
  find(name: string): Promise<Value | undefined>
  /** False if the store is out of reach. */
  write(name: string, value: Value, ttlMs: number): Promise<boolean>
  /** If the store is out of reach, the record stays until its time to live ends. */
  remove(name: string): Promise<void>
  /** Removes only the record whose value is meant. */
  removeIf(name: string, isMeant: (value: Value) => boolean): Promise<void>
}

export interface PamRecordsOptions<Value> extends Pick<PamDeps, 'store' | 'names' | 'log' | 'metrics'> {
  readonly kind: 'pam-token' | 'pam-groups'
  readonly seal: Seal
  readonly schema: z.ZodType<Value>
}

export function createPamRecords<Value>(options: PamRecordsOptions<Value>): PamRecords<Value> {
  const keyOf = (hmac: string) => `gatehouse:${options.kind}:${hmac}`
  const records = createSealedRecords<Value>({ ...options, keyOf, codec: versionedCodec(options) })
  const read = async (name: string) => (await records.read(name))?.value

  return {
    read,
    find: (name) => read(name).catch(() => undefined),

    async write(name, value, ttlMs) {
      try {
        await records.read(name) // throws if a newer version wrote it
        return await records.write(name, value, ttlMs)
      } catch {
        return false
      }
    },

    async remove(name) {
      await records.remove(name).catch(() => false)
    },

    async removeIf(name, isMeant) {
      const record = await records.read(name).catch(() => undefined)
      if (record !== undefined && isMeant(record.value)) await records.removeIf(record).catch(() => false)
    },
  }
}

const VERSION = 1
const HEAD = `v${VERSION}\n`

/** JSON after a line with the version. */
function versionedCodec<Value>({ schema, kind, log, metrics }: PamRecordsOptions<Value>): RecordCodec<Value> {
  const json = jsonCodec(schema)
  return {
    encode: (value) => HEAD + json.encode(value),
    decode(text) {
      if (text.startsWith(HEAD)) return json.decode(text.slice(HEAD.length))
      if (Number(/^v(\d{1,9})\n/.exec(text)?.[1]) > VERSION) {
        metrics.unreadableRecords.inc({ kind })
        log.warn('unreadable_record', { name: kind })
        throw new Error('a newer version wrote it')
      }
      return undefined
    },
  }
}
