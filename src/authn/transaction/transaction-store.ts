import { randomBytes } from 'node:crypto'
import type { Seal, Signer } from '../../crypto/keys.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UserKeys } from '../../session/user-keys.ts'
import { createSealedRecords } from '../../store/sealed-records.ts'
import { allSettledOrThrow, type RecordChange, type Store } from '../../store/store.ts'
import { LIFETIME, Transaction } from './transaction.ts'

/**
 * Stores transactions as sealed records, under the HMAC of their handle: their name. The step lock uses the same names.
 */
export interface TransactionStore {
  /** One name for each of SECRET_KEYS, the newest first. */
  names(handle: string): readonly [string, ...string[]]
  keyOf(name: string): string
  /** Reads a transaction without its step lock. */
  read(name: string): Promise<Transaction | undefined>
  create(handle: string, transaction: Transaction): Promise<void>
  /** Deletes a transaction. A step that is running in it can no longer commit. */
  end(name: string): Promise<void>
  /** undefined if there is no record, or it is unreadable: the transaction counts as expired. */
  open(raw: string | undefined, key: string): Transaction | undefined
  /** The change that a commit makes to the record at this key. */
  recordChange(before: Transaction, after: Transaction | undefined, key: string): RecordChange
  /** Indexes the record by its user, if known, for as long as it can last, so that it is deleted when all sessions of the user end. */
  addToUserIndex(transaction: Transaction, key: string): Promise<void>
  /** To be called before a step that changes the password is sent: the org's event about it then does not end the transaction. */
  announcePasswordChange(transaction: Transaction, handle: string): Promise<void>
  /** Removes a deleted record from the index. Never fails, because an entry that is left expires with the index. */
  removeFromUserIndex(transaction: Transaction, key: string): void
}

export interface TransactionStoreOptions {
  readonly store: Store
  readonly seal: Seal
  readonly names: Signer
  readonly openTransactions: Pick<UserKeys, 'add' | 'remove'>
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

const HANDLE = /^00[\w-]{43}$/
const HANDLE_BYTES = 32

/** `00` and 32 random bytes in base64url. Never `01…`: clients would assume another sign-in engine. */
export function newHandle(): string {
  return `00${randomBytes(HANDLE_BYTES).toString('base64url')}`
}

export function isHandle(value: string): boolean {
  return HANDLE.test(value)
}

/** The hash tag keeps a transaction, its lock and its shared results in one Redis Cluster slot. */
const KEY_PATTERN = 'txn:{*}'

export function createTransactionStore(options: TransactionStoreOptions): TransactionStore {
  const { store, names, openTransactions, now } = options
  const keyOf = (name: string) => store.keyPrefix + KEY_PATTERN.replace('*', name)
  const records = createSealedRecords<Transaction>({
    ...options,
    ...{ keyPattern: KEY_PATTERN, schema: Transaction, kind: 'transaction' },
  })

  const addToUserIndex: TransactionStore['addToUserIndex'] = async ({ userId }, key) => {
    if (userId !== undefined) await openTransactions.add(userId, key, LIFETIME.totalMs)
  }

  return {
    names: (handle) => names.signAll(handle),
    keyOf,
    open: records.open,
    addToUserIndex,

    async read(name) {
      const key = keyOf(name)
      return records.open(await store.get(key), key)
    },

    async create(handle, transaction) {
      const writing = records.write(handle, transaction, transaction.expiresAtMs - now())
      await allSettledOrThrow(writing, addToUserIndex(transaction, records.keysOf(handle)[0]))
    },

    end: async (name) => void (await store.delete(keyOf(name))),

    recordChange(before, after, key) {
      if (after === undefined) return 'delete'
      if (after === before) return 'keep'
      return { write: records.seal(after, key), ttlMs: after.expiresAtMs - now() }
    },

    async announcePasswordChange({ userId }, handle) {
      if (userId === undefined) return
      const [key] = records.keysOf(handle)
      await openTransactions.add(userId, key, LIFETIME.totalMs, now())
    },

    removeFromUserIndex({ userId }, key) {
      if (userId !== undefined) openTransactions.remove(userId, key).catch(() => {})
    },
  }
}
