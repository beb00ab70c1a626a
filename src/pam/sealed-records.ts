import type { Seal } from '../crypto/seal.ts'
import type { Signer } from '../crypto/sign.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { ImpatientStore } from '../store/impatient-store.ts'

/** Sealed values in the store, under keyed hashes of their names: neither tells anything to who reads the store. */
export interface SealedRecords {
  read(name: string): Promise<SealedRecord | undefined>
  write(name: string, text: string, ttlMs: number): Promise<void>
  remove(name: string): Promise<void>
  /** Removes it only if it is still the one that was read. */
  removeIf(record: SealedRecord): Promise<void>
  /** A key beside the records, such as a lock's, by the same keyed hash. */
  keyBeside(prefix: string, name: string): string
}

export interface SealedRecord {
  readonly key: string
  readonly raw: string
  readonly text: string
}

export interface SealedRecordsParts {
  readonly store: ImpatientStore
  readonly seal: Seal
  readonly signer: Signer
  readonly metrics: Metrics
  /** What the keys begin with after `gatehouse:`. */
  readonly kind: 'pam-token' | 'pam-groups'
}

export function createSealedRecords({
  store,
  seal,
  signer,
  metrics,
  kind,
}: SealedRecordsParts): SealedRecords {
  const keyOf = (hash: string) => `gatehouse:${kind}:${hash}`

  return {
    /** Also under the names that retired keys gave it. */
    async read(name) {
      for (const hash of signer.signAll(name)) {
        const key = keyOf(hash)
        const raw = await store.get(key)
        if (raw === undefined) continue
        const text = seal.open(raw, key)
        if (text !== undefined) return { key, raw, text }
        metrics.unreadableRecords.inc({ kind })
      }
      return undefined
    },

    async write(name, text, ttlMs) {
      const key = keyOf(signer.sign(name))
      await store.set(key, seal.seal(text, key), ttlMs)
    },

    async remove(name) {
      for (const hash of signer.signAll(name)) await store.delete(keyOf(hash))
    },

    async removeIf({ key, raw }) {
      await store.deleteIf(key, raw)
    },

    keyBeside: (prefix, name) => `gatehouse:${prefix}:${signer.sign(name)}`,
  }
}
