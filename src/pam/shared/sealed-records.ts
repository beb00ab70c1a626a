import type { Seal } from '../../crypto/seal.ts'
import type { Signer } from '../../crypto/sign.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { FailFastStore } from '../../store/fail-fast-store.ts'

/**
 * Sealed values in the store, under keyed hashes of their names: neither tells a reader of the store anything. Each
 * bears the version that wrote it. What can't be read is counted and as good as none; but what a newer version wrote
 * stays, and counts as a store that is away: each process of the older one goes by its own memory.
 */
export interface SealedRecords {
  /** `parse` gives undefined for a text that it can't read. */
  read<Value>(
    name: string,
    parse: (text: string) => Value | undefined,
  ): Promise<SealedRecord<Value> | undefined>
  write(name: string, text: string, ttlMs: number): Promise<void>
  remove(name: string): Promise<void>
  /** Removes it only if it is still the one that was read. */
  removeIf(record: SealedRecord<unknown>): Promise<void>
  /** A key beside the records, such as a lock's, by the same keyed hash. */
  keyBeside(prefix: string, name: string): string
}

export interface SealedRecord<Value> {
  readonly key: string
  readonly raw: string
  readonly value: Value
}

export interface SealedRecordsParts {
  readonly store: FailFastStore
  readonly seal: Seal
  readonly signer: Signer
  readonly metrics: Metrics
  readonly log: Logger
  /** What the keys begin with after `gatehouse:`. */
  readonly kind: 'pam-token' | 'pam-groups'
}

/** What the value begins with: the version, and a line break. */
const VERSION = 1
const HEAD = `v${VERSION}\n`

export function createSealedRecords({
  store,
  seal,
  signer,
  metrics,
  log,
  kind,
}: SealedRecordsParts): SealedRecords {
  const keyOf = (hash: string) => `gatehouse:${kind}:${hash}`

  return {
    /** Also under the names that retired keys gave it. */
    async read(name, parse) {
      for (const hash of signer.signAll(name)) {
        const key = keyOf(hash)
        const raw = await store.get(key)
        if (raw === undefined) continue
        const text = seal.open(raw, key)
        const value = text?.startsWith(HEAD) ? parse(text.slice(HEAD.length)) : undefined
        if (value !== undefined) return { key, raw, value }
        metrics.unreadableRecords.inc({ kind })
        log.warn('unreadable_record', { name: kind })
        refuseNewer(text)
      }
      return undefined
    },

    async write(name, text, ttlMs) {
      const key = keyOf(signer.sign(name))
      const raw = await store.get(key)
      refuseNewer(raw === undefined ? undefined : seal.open(raw, key))
      await store.set(key, seal.seal(HEAD + text, key), ttlMs)
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

function refuseNewer(text: string | undefined): void {
  const version = Number(/^v(\d{1,9})\n/.exec(text ?? '')?.[1] ?? 0)
  if (version > VERSION) throw new Error('a newer version wrote it')
}
