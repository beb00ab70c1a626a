import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Seal, Signer } from '../../crypto/keys.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UserKeys } from '../../session/user-keys.ts'
import { createSealedRecords, jsonCodec } from '../../store/sealed-records.ts'
import { allSettledOrThrow, type RecordChange, type Store } from '../../store/store.ts'
import type { Transaction } from './transaction.ts'

/**
 * Stores transactions as sealed records, under the HMAC of their handle: their name. The step lock uses the same names.
 */
export interface TransactionStore {
  /** One name for each of SECRET_KEYS, the newest first. */
  names(handle: string): readonly [string, ...string[]]
  /** Reads a transaction without its step lock. */
  read(name: string): Promise<Transaction | undefined>
  create(handle: string, transaction: Transaction): Promise<void>
  /** Deletes a transaction. A step that is running in it can no longer commit. */
  end(name: string): Promise<void>
  /** undefined if there is no record, or it is unreadable: the transaction counts as expired. */
  open(raw: string | undefined, key: string): Transaction | undefined
  /** The change that a commit makes to the record at this key. */
  recordChange(before: Transaction, after: Transaction | undefined, key: string): RecordChange
  /** Indexes the record by its user, if known, so that it is deleted when all sessions of the user end. */
  addToUserIndex(transaction: Transaction, key: string): Promise<void>
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
export const transactionKey = (name: string) => `gatehouse:txn:{${name}}`

export function createTransactionStore(options: TransactionStoreOptions): TransactionStore {
  const { store, names, openTransactions, now } = options
  const records = createSealedRecords<Transaction>({
    ...options,
    keyPattern: transactionKey('*'),
    codec: jsonCodec(StoredTransaction),
    kind: 'transaction',
  })

  const addToUserIndex: TransactionStore['addToUserIndex'] = async ({ userId, expiresAtMs }, key) => {
    if (userId !== undefined) await openTransactions.add(userId, key, expiresAtMs - now())
  }

  return {
    names: (handle) => names.signAll(handle),
    open: records.open,
    addToUserIndex,

    async read(name) {
      const key = transactionKey(name)
      return records.open(await store.get(key), key)
    },

    async create(handle, transaction) {
      const writing = records.write(handle, transaction, transaction.expiresAtMs - now())
      await allSettledOrThrow(writing, addToUserIndex(transaction, records.keysOf(handle)[0]))
    },

    end: async (name) => void (await store.delete(transactionKey(name))),

    recordChange(before, after, key) {
      if (after === undefined) return 'delete'
      if (after === before) return 'keep'
      return { write: records.seal(after, key), ttlMs: after.expiresAtMs - now() }
    },

    removeFromUserIndex({ userId }, key) {
      if (userId !== undefined) openTransactions.remove(userId, key).catch(() => {})
    },
  }
}

const StoredEnrollment = z.object({
  factorType: z.string(),
  provider: z.string().optional(),
  updatesPhone: z.boolean(),
  replaces: z.boolean(),
})

const StoredTransaction: z.ZodType<Transaction> = z.object({
  version: z.literal(1),
  origin: z.enum(['begun', 'imported', 'redirect-only']),
  stateToken: z.string(),
  retiredTokens: z.array(z.string()),
  status: z.string(),
  userId: z.string().optional(),
  login: z.string().optional(),
  offered: z.array(
    z.object({
      path: z.string(),
      query: z.string(),
      methods: z.array(z.string()),
      href: z.string().optional(),
    }),
  ),
  factorTypes: z.record(z.string(), z.string()),
  enrollment: StoredEnrollment.optional(),
  activeFactors: z.array(z.string()),
  awaitedFactor: z.string().optional(),
  factorFailed: z.boolean().optional(),
  pollNotBeforeMs: z.record(z.string(), z.number()).optional(),
  device: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  credentialAccepted: z.boolean(),
  userProved: z.boolean(),
  sessionId: z.string().optional(),
  amr: z.array(z.string()),
  recovery: z
    .object({
      decoy: z.boolean(),
      factorType: z.enum(['SMS', 'CALL']),
      recoveryType: z.enum(['PASSWORD', 'UNLOCK']),
      relayState: z.string().optional(),
      sentAtMs: z.number(),
      wrongCodes: z.number(),
    })
    .optional(),
})
