import { z } from 'zod'
import type { Seal, Signer } from '../../crypto/keys.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { KEYS } from '../../store/keys.ts'
import { createSealedRecords } from '../../store/sealed-records.ts'
import type { Store } from '../../store/store.ts'
import { PICTURE } from './link-paths.ts'
import type { OfferedStep, Transaction } from './transaction.ts'
import type { TransactionStore } from './transaction-store.ts'

export interface OfferingTransaction {
  readonly handle: string
  /** Removed from the resource. */
  readonly stateTokens: readonly string[]
  readonly ttlMs: number
}

export interface OfferedResource {
  /** Okta's path and query. */
  readonly path: string
  readonly stateTokens: readonly string[]
  /** The user of the transaction, if known. */
  readonly user: Pick<Transaction, 'userId' | 'login'>
}

export interface OfferedResourcesDeps {
  readonly store: Store
  readonly seal: Seal
  readonly nameSigner: Signer
  readonly transactions: Pick<TransactionStore, 'namesOf' | 'read'>
  readonly log: Logger
  readonly metrics: Metrics
}

const QUESTIONS = /^\/api\/v1\/users\/[^/]+\/factors\/questions$/

/**
 * A record keeps this many names of transactions, the newest. A transaction has one name for each
 * of SECRET_KEYS.
 */
const MAX_NAMES = 20
const StoredResource = z.object({
  version: z.literal(1),
  path: z.string(),
  stateTokens: z.array(z.string()).readonly(),
  /** Names of the transactions that offered it, newest first. */
  transactions: z.array(z.string()),
})
type StoredResource = z.infer<typeof StoredResource>
const STORED = { keyPattern: KEYS.offeredResource.pattern, schema: StoredResource, kind: 'offer' }

export type OfferedResources = ReturnType<typeof createOfferedResources>

/**
 * Resources that Okta offered to GET: security questions and enrollment pictures. A browser
 * requests them without a handle (an `<img>` cannot send one), so they are found by device and
 * path. A resource is available while any transaction that offered it is open, because several tabs
 * may have been offered the same path.
 */
export function createOfferedResources(deps: OfferedResourcesDeps) {
  const { store, nameSigner, transactions } = deps
  const records = createSealedRecords({ ...deps, ...STORED })

  /**
   * Replaces Okta's token in the path of a picture. The same device and path always get the same
   * handle.
   */
  const pictureHandle = (device: string, upstreamPath: string): string =>
    nameSigner.sign(JSON.stringify(['picture', device, upstreamPath]))

  const addOne = async (name: string, path: string, by: OfferingTransaction) => {
    const [key] = records.keysOf(name)
    const earlier = records.open(await store.get(key), key)?.transactions ?? []
    const offeredBy = [...new Set([...transactions.namesOf(by.handle), ...earlier])].slice(0, MAX_NAMES)
    const { stateTokens, ttlMs } = by
    await records.write(name, { version: 1, path, stateTokens, transactions: offeredBy }, ttlMs)
  }

  return {
    pictureHandle,

    async add(device: string, offered: readonly OfferedStep[], by: OfferingTransaction): Promise<void> {
      const kept = offered.map(async ({ path, query }) => {
        const publicPath = publicPathOf(path, () => pictureHandle(device, path))
        if (publicPath !== undefined) await addOne(nameOf(device, publicPath), path + query, by)
      })
      await Promise.all(kept)
    },

    /** undefined if it was not offered to this device, or the transaction is over. */
    async find(device: string, publicPath: string): Promise<OfferedResource | undefined> {
      for (const key of records.keysOf(nameOf(device, publicPath))) {
        const stored = records.open(await store.get(key), key)
        const user = stored === undefined ? undefined : await findOfferingUser(stored, transactions)
        if (stored !== undefined && user !== undefined)
          return { path: stored.path, stateTokens: stored.stateTokens, user }
      }
      return undefined
    },
  }
}

const nameOf = (device: string, publicPath: string) => JSON.stringify([device, publicPath])

/** The path that a browser requests; undefined for any other link. */
function publicPathOf(path: string, pictureHandle: () => string): string | undefined {
  if (QUESTIONS.test(path)) return path
  const [, folder] = PICTURE.exec(path) ?? []
  return folder === undefined ? undefined : folder + pictureHandle()
}

/** The user of an open transaction that offered it; undefined if none is open. */
async function findOfferingUser(
  { transactions: offeredBy }: StoredResource,
  transactions: Pick<TransactionStore, 'read'>,
): Promise<OfferedResource['user'] | undefined> {
  for (const name of offeredBy) {
    const transaction = await transactions.read(name)
    if (transaction === undefined || transaction.origin === 'redirect-only') continue
    return { userId: transaction.userId, login: transaction.login }
  }
  return undefined
}
