import { randomBytes } from 'node:crypto'
import type { Seal, Signer } from '../../crypto/keys.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UserKeys } from '../../revocation/user-keys.ts'
import { allSettledOrThrow } from '../../store/all-settled-or-throw.ts'
import { KEYS, keyOf } from '../../store/keys.ts'
import type { RecordChange } from '../../store/locked-records.ts'
import { createSealedRecords } from '../../store/sealed-records.ts'
import type { Store } from '../../store/store.ts'
import { LIFETIME, Transaction } from './transaction.ts'

export type TransactionStore = ReturnType<typeof createTransactionStore>

export interface TransactionStoreOptions {
  readonly store: Store
  readonly seal: Seal
  readonly nameSigner: Signer
  readonly openTransactions: Pick<UserKeys, 'add' | 'remove'>
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

const HANDLE = /^00[\w-]{43}$/
const HANDLE_BYTES = 32

/**
 * `00` and 32 random bytes in base64url. Never `01…`: clients would assume another sign-in engine.
 */
export function newHandle(): string {
  return `00${randomBytes(HANDLE_BYTES).toString('base64url')}`
}

export function isHandle(value: string): boolean {
  return HANDLE.test(value)
}

/**
 * Stores transactions as sealed records, under the HMAC of their handle: their name. The step lock
 * uses the same names.
 */
export function createTransactionStore(options: TransactionStoreOptions) {
  const { store, nameSigner, openTransactions, now } = options
  const keyFor = (name: string) => keyOf(store, KEYS.transaction, name)
  const records = createSealedRecords<Transaction>({
    ...options,
    keyPattern: KEYS.transaction.pattern,
    schema: Transaction,
    kind: 'transaction',
  })

  const userIndex = createUserIndex({ openTransactions, now }, (handle) => records.keysOf(handle)[0])

  return {
    /** One name for each of SECRET_KEYS, the newest first. */
    namesOf: nameSigner.signAll,
    keyOf: keyFor,
    /** undefined if there is no record, or it is unreadable: the transaction counts as expired. */
    open: records.open,
    ...userIndex,

    /** Reads a transaction without its step lock. */
    async read(name: string): Promise<Transaction | undefined> {
      const key = keyFor(name)
      return records.open(await store.get(key), key)
    },

    async create(handle: string, transaction: Transaction): Promise<void> {
      const [key] = records.keysOf(handle)
      const writing = store.set(key, records.seal(transaction, key), transaction.expiresAtMs - now())
      await allSettledOrThrow(writing, userIndex.addToUserIndex(transaction, key))
    },

    /** Undoes `create`, also one that failed. */
    async remove(handle: string, transaction: Transaction): Promise<void> {
      const [key] = records.keysOf(handle)
      await store.delete(key)
      userIndex.removeFromUserIndex(transaction, key)
    },

    /** Deletes a transaction. A step that is running in it can no longer commit. */
    end: (name: string) => store.delete(keyFor(name)),

    /** The change that a commit makes to the record at this key. */
    recordChange(before: Transaction, after: Transaction | undefined, key: string): RecordChange {
      if (after === undefined) return 'delete'
      if (after === before) return 'keep'
      return { write: records.seal(after, key), ttlMs: after.expiresAtMs - now() }
    },
  }
}

function createUserIndex(
  { openTransactions, now }: Pick<TransactionStoreOptions, 'openTransactions' | 'now'>,
  newestKeyOf: (handle: string) => string,
) {
  return {
    /**
     * To be called before a step that changes the password is sent: the org's event about it then
     * does not end the transaction.
     */
    async announcePasswordChange({ userId }: Transaction, handle: string): Promise<void> {
      if (userId !== undefined)
        await openTransactions.add(userId, [newestKeyOf(handle)], LIFETIME.totalMs, now())
    },

    /**
     * Indexes the record by its user, if known, for as long as it can last, so that it is deleted
     * when all sessions of the user end.
     */
    async addToUserIndex({ userId }: Transaction, key: string): Promise<void> {
      if (userId !== undefined) await openTransactions.add(userId, [key], LIFETIME.totalMs)
    },

    /**
     * Removes a deleted record from the index. Never fails, because an entry that is left expires
     * with the index.
     */
    removeFromUserIndex({ userId }: Transaction, key: string): void {
      if (userId !== undefined) openTransactions.remove(userId, key).catch(() => {})
    },
  }
}
