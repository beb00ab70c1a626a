import type { z } from 'zod'
import type { Seal, Signer } from '../crypto/keys.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { keyOf } from './keys.ts'
import type { Store } from './store.ts'

export interface SealedValues<Value> {
  seal(value: Value, key: string): string
  /** Undefined if there is no readable record. */
  open(raw: string | undefined, key: string): Value | undefined
}

export interface SealedRecord<Value> {
  readonly key: string
  /** As stored. */
  readonly raw: string
  readonly value: Value
}

export interface SealedRecordsOptions<Value> extends SealedValuesOptions<Value> {
  readonly store: Pick<Store, 'keyPrefix' | 'get' | 'set' | 'delete' | 'deleteIf'>
  /** For the HMAC of the name. */
  readonly nameSigner: Signer
  /** Of its Redis keys (`KEYS`), with `*` for the HMAC. */
  readonly keyPattern: `${string}*${string}`
}

export interface SealedValuesOptions<Value> {
  readonly seal: Seal
  /** Of the value, which is stored as JSON. It contains the version as a literal. */
  readonly schema: z.ZodType<Value>
  /** The label of `gatehouse_unreadable_records_total`. */
  readonly kind: string
  readonly log: Logger
  readonly metrics: Metrics
}

/**
 * Encrypted records, stored under an HMAC of their name, so that a reader of the store learns
 * neither names nor contents. The Redis key is the associated data, so a record that is copied to
 * another key, or to one with another prefix, cannot be opened. After a rotation of SECRET_KEYS,
 * records are still found under their old keys.
 *
 * An unreadable record (damaged, or of another version) is counted, logged and treated as missing.
 * It is not deleted, because a newer replica may be able to read it.
 */
export function createSealedRecords<Value>(options: SealedRecordsOptions<Value>) {
  const { store, nameSigner, keyPattern } = options
  const values = createSealedValues(options)

  const keyFor = (hmac: string) => keyOf(store, { pattern: keyPattern }, hmac)
  /** The Redis keys that the record can have, newest first. */
  const keysOf = (name: string): readonly [string, ...string[]] => {
    const [newest, ...older] = nameSigner.signAll(name)
    return [keyFor(newest), ...older.map(keyFor)]
  }

  return {
    ...values,
    keysOf,

    /** The newest readable record. */
    async read(name: string): Promise<SealedRecord<Value> | undefined> {
      for (const key of keysOf(name)) {
        const raw = await store.get(key)
        const value = values.open(raw, key)
        if (raw !== undefined && value !== undefined) return { key, raw, value }
      }
      return undefined
    },

    /** Under the newest key. */
    async write(name: string, value: Value, ttlMs: number): Promise<void> {
      const key = keyFor(nameSigner.sign(name))
      await store.set(key, values.seal(value, key), ttlMs)
    },

    /** False if there was no record. */
    async remove(name: string): Promise<boolean> {
      let removed = false
      for (const key of keysOf(name)) removed = (await store.delete(key)) || removed
      return removed
    },

    /** False, and nothing is removed, if the record has changed since it was read. */
    removeIf: ({ key, raw }: SealedRecord<Value>) => store.deleteIf(key, raw),
  }
}

/** For values whose keys are not HMACs of a name. */
export function createSealedValues<Value>(options: SealedValuesOptions<Value>): SealedValues<Value> {
  const { seal, schema, kind, log, metrics } = options
  return {
    seal: (value, key) => seal.seal(JSON.stringify(value), key),
    open(raw, key) {
      if (raw === undefined) return undefined
      const value = schema.safeParse(parseStoredJson(seal.open(raw, key))).data
      if (value === undefined) {
        metrics.unreadableRecords.inc({ kind })
        log.warn('unreadable_record', { name: kind })
      }
      return value
    },
  }
}

/** Undefined for a missing text, and for one that is not JSON: it is of an unknown version. */
export function parseStoredJson(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
