import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Seal } from '../../crypto/seal.ts'
import type { Signer } from '../../crypto/sign.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { UserKeys } from '../../session/user-keys.ts'
import { allWritten } from '../../store/all-written.ts'
import type { Store } from '../../store/store.ts'
import { parseStored } from '../../store/stored-json.ts'
import type { Transaction } from './transaction.ts'

/**
 * Where transactions lie: under an HMAC of the handle, sealed with that place as associated data. Nobody can get
 * from the store to a handle, or from one record to another.
 */
export interface TransactionStore {
  /** Where this handle's transaction may lie, newest key first; the same names serve its lock and its results. */
  names(handle: string): readonly [string, ...string[]]
  /** Reads a transaction outside a step, by one of its `names`; undefined as for `decode`. */
  read(name: string): Promise<Transaction | undefined>
  create(handle: string, transaction: Transaction, ttlMs: number): Promise<void>
  /** Ends what lies under this name, as a cancel does: a step under way in it writes nothing more. */
  end(name: string): Promise<void>
  /** Has a record that is being written end with all sessions of its user, once the user is known. */
  endWithUser(transaction: Transaction, place: string): Promise<void>
  /**
   * The record is deleted, so nothing has to end with the user any more. To be called once the deletion stands: a record
   * that is still there must be found. Never fails; an entry that stays ends with the index.
   */
  ended(transaction: Transaction, place: string): void
  encode(transaction: Transaction, place: string): string
  /** undefined: none, or one that can't be read (another version, a removed key): an expired transaction. */
  decode(raw: string | undefined, place: string): Transaction | undefined
}

export interface TransactionStoreParts {
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

/** `00` and 32 random bytes in base64url. Never `01…`: clients take that for another engine. */
export function newHandle(): string {
  return `00${randomBytes(HANDLE_BYTES).toString('base64url')}`
}

export function isHandle(value: string): boolean {
  return HANDLE.test(value)
}

/** The hash tag keeps a transaction, its lock and its shared answers in one Redis Cluster slot. */
export const transactionPlace = (name: string) => `gatehouse:txn:{${name}}`

export function createTransactionStore(parts: TransactionStoreParts): TransactionStore {
  const { store, seal, names, openTransactions, log, metrics, now } = parts

  const encode: TransactionStore['encode'] = (transaction, place) =>
    seal.seal(JSON.stringify(transaction), place)

  const endWithUser: TransactionStore['endWithUser'] = async ({ userId, expiresAtMs }, place) => {
    if (userId !== undefined) await openTransactions.add(userId, place, expiresAtMs - now())
  }

  const decode: TransactionStore['decode'] = (raw, place) => {
    if (raw === undefined) return undefined
    const transaction = parseRecord(seal.open(raw, place))
    if (transaction === undefined) {
      metrics.unreadableRecords.inc({ kind: 'transaction' })
      log.warn('unreadable_record', { name: 'transaction' })
    }
    return transaction
  }

  return {
    names: (handle) => names.signAll(handle),
    encode,
    endWithUser,

    ended({ userId }, place) {
      if (userId !== undefined) openTransactions.remove(userId, place).catch(() => {})
    },

    async create(handle, transaction, ttlMs) {
      const place = transactionPlace(names.sign(handle))
      await allWritten(store.set(place, encode(transaction, place), ttlMs), endWithUser(transaction, place))
    },

    decode,

    async read(name) {
      const place = transactionPlace(name)
      return decode(await store.get(place), place)
    },

    async end(name) {
      await store.delete(transactionPlace(name))
    },
  }
}

const StoredTransaction = z.object({
  version: z.literal(1),
  origin: z.enum(['begun', 'imported', 'remnant']),
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
  enrolment: z
    .object({
      factorType: z.string(),
      provider: z.string().optional(),
      updatesPhone: z.boolean(),
      replaces: z.boolean(),
    })
    .optional(),
  activeFactors: z.array(z.string()).default([]), // records of earlier versions have none
  awaitedFactor: z.string().optional(),
  device: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  credentialAccepted: z.boolean(),
  userProved: z.boolean().optional(), // an older version did not ask for more than an accepted credential
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

function parseRecord(text: string | undefined): Transaction | undefined {
  if (text === undefined) return undefined
  const { success, data } = StoredTransaction.safeParse(parseStored(text))
  if (!success) return undefined
  const { userId, login, enrolment, awaitedFactor, recovery } = data
  return {
    ...data,
    userProved: data.userProved ?? data.credentialAccepted,
    userId,
    login,
    enrolment,
    awaitedFactor,
    recovery: recovery === undefined ? undefined : { ...recovery, relayState: recovery.relayState },
  }
}
