import type { z } from 'zod'
import type { Seal, Signer } from '../crypto/keys.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Store } from './store.ts'

/**
 * Records in the store under an HMAC of their name, each sealed with its own key as associated data: a reader of the store learns
 * neither name nor content, and a record copied to another key does not open. After a rotation of SECRET_KEYS, a record is still
 * found under the key that it was written to.
 *
 * A record that cannot be read (damaged, or of another version) is counted and logged, and counts as none. It is not deleted: a
 * newer replica may be able to read it.
 */
export interface SealedRecords<Value> {
  /** The Redis keys that a record may have, the newest first. */
  keysOf(name: string): readonly [string, ...string[]]
  /** The first record that can be read. */
  read(name: string): Promise<SealedRecord<Value> | undefined>
  /** False if `when` did not hold. With `present`, the record is written where it is, if anywhere. */
  write(name: string, value: Value, ttlMs: number, when?: 'present'): Promise<boolean>
  /** False if there was none. */
  remove(name: string): Promise<boolean>
  /** Removes this record if it has not been written since it was read; false otherwise. */
  removeIf(record: SealedRecord<Value>): Promise<boolean>
  seal(value: Value, key: string): string
  /** undefined: none, or one that cannot be read. */
  open(raw: string | undefined, key: string): Value | undefined
}

export interface SealedRecord<Value> {
  readonly key: string
  /** As stored. */
  readonly raw: string
  readonly value: Value
}

export interface RecordCodec<Value> {
  encode(value: Value): string
  /** undefined: not a record of this version. */
  decode(text: string): Value | undefined
}

export interface SealedRecordsOptions<Value> {
  readonly store: Pick<Store, 'get' | 'set' | 'delete' | 'deleteIf'>
  readonly seal: Seal
  /** For the HMAC of the name. */
  readonly names: Signer
  readonly keyOf: (hmac: string) => string
  readonly codec: RecordCodec<Value>
  /** The label of `gatehouse_unreadable_records_total`. */
  readonly kind: string
  readonly log: Logger
  readonly metrics: Metrics
}

export function createSealedRecords<Value>(options: SealedRecordsOptions<Value>): SealedRecords<Value> {
  const { store, seal, names, keyOf, codec } = options

  const keysOf = (name: string): readonly [string, ...string[]] => {
    const [newest, ...older] = names.signAll(name)
    return [keyOf(newest), ...older.map(keyOf)]
  }
  const open = (raw: string | undefined, key: string) =>
    raw === undefined ? undefined : openRecord(options, raw, key)

  return {
    keysOf,
    open,
    seal: (value, key) => seal.seal(codec.encode(value), key),

    async read(name) {
      for (const key of keysOf(name)) {
        const raw = await store.get(key)
        const value = open(raw, key)
        if (raw !== undefined && value !== undefined) return { key, raw, value }
      }
      return undefined
    },

    async write(name, value, ttlMs, when) {
      const text = codec.encode(value)
      for (const key of keysOf(name)) if (await store.set(key, seal.seal(text, key), ttlMs, when)) return true
      return false
    },

    async remove(name) {
      let removed = false
      for (const key of keysOf(name)) removed = (await store.delete(key)) || removed
      return removed
    },

    removeIf: ({ key, raw }) => store.deleteIf(key, raw),
  }
}

function openRecord<Value>(
  options: SealedRecordsOptions<Value>,
  raw: string,
  key: string,
): Value | undefined {
  const { seal, codec, kind, log, metrics } = options
  const text = seal.open(raw, key)
  const value = text === undefined ? undefined : codec.decode(text)
  if (value === undefined) {
    metrics.unreadableRecords.inc({ kind })
    log.warn('unreadable_record', { name: kind })
  }
  return value
}

/** Values as JSON; what the schema refuses cannot be read. The schema must name the version as a literal. */
export function jsonCodec<Value>(schema: z.ZodType<Value>): RecordCodec<Value> {
  return {
    encode: (value) => JSON.stringify(value),
    decode: (text) => schema.safeParse(parseStoredJson(text)).data,
  }
}

/** What a stored text says; undefined for none and for what is not JSON: written by a version that we do not know. */
export function parseStoredJson(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
