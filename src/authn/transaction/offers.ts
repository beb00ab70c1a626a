import { z } from 'zod'
import type { Seal } from '../../crypto/seal.ts'
import type { Signer } from '../../crypto/sign.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Store } from '../../store/store.ts'
import { parseStored } from '../../store/stored-json.ts'
import { type OfferedStep, PICTURE } from './offered-steps.ts'
import type { Transaction } from './transaction.ts'
import type { TransactionStore } from './transaction-store.ts'

/**
 * GETs that the upstream offered: security questions and enrolment pictures. A browser asks for them without a
 * handle (an `<img>` has none to give), so they are found by device and path, and by nobody else. A GET is allowed as
 * long as one of the transactions that offered it is open: several tabs of a browser may have been offered the same path.
 */
export interface Offers {
  /** Stands in a picture's path in place of the upstream's token; the same one as long as the path is the same. */
  pictureHandle(device: string, upstreamPath: string): string
  keep(device: string, offered: readonly OfferedStep[], by: OfferedBy): Promise<void>
  /** What is behind a path that this device asks for; undefined: not offered to it, or the transaction is over. */
  find(device: string, publicPath: string): Promise<Offer | undefined>
}

/** The transaction that offers. */
export interface OfferedBy {
  readonly handle: string
  /** The transaction's; the answer to the GET must not contain them either. */
  readonly stateTokens: readonly string[]
  readonly ttlMs: number
}

export interface Offer {
  /** The upstream's own. */
  readonly path: string
  readonly stateTokens: readonly string[]
  /** The user of the transaction, as far as known. */
  readonly user: Pick<Transaction, 'userId' | 'login'>
}

export interface OffersParts {
  readonly store: Store
  readonly seal: Seal
  readonly names: Signer
  readonly transactions: Pick<TransactionStore, 'names' | 'read'>
  readonly log: Logger
  readonly metrics: Metrics
}

const QUESTIONS = /^\/api\/v1\/users\/[^/]+\/factors\/questions$/

/** Names of transactions kept in an offer, the newest; a transaction has one name for each of SECRET_KEYS. */
const MAX_NAMES = 20
const VERSION = 1
const StoredOffer = z.object({
  version: z.literal(VERSION),
  path: z.string(),
  stateTokens: z.array(z.string()).default([]), // once there were none in it
  /** Names of the transactions that offered it, newest first; earlier versions stored none. */
  transactions: z.array(z.string()).optional(),
})

type StoredOffer = z.infer<typeof StoredOffer>

/** An offer of any version, to tell a newer one. */
const AnyOffer = z.object({ version: z.number() })

export function createOffers({ store, seal, names, transactions, log, metrics }: OffersParts): Offers {
  const pictureHandle: Offers['pictureHandle'] = (device, upstreamPath) =>
    names.sign(JSON.stringify(['picture', device, upstreamPath]))

  const places = (device: string, publicPath: string) =>
    names.signAll(JSON.stringify([device, publicPath])).map((name) => `gatehouse:offer:${name}`)

  const open = (sealed: string | undefined, place: string): unknown =>
    parseStored(sealed === undefined ? undefined : seal.open(sealed, place))

  /** A newer replica wrote it, and goes on with it. */
  const isNewer = (record: unknown): boolean => {
    const { data } = AnyOffer.safeParse(record)
    return data !== undefined && data.version > VERSION
  }

  /** Undefined if no transaction is open. For a record of an earlier version, the transaction and the user are unknown. */
  const userOf = async ({ transactions: offeredBy }: StoredOffer): Promise<Offer['user'] | undefined> => {
    if (offeredBy === undefined) return { userId: undefined, login: undefined }
    for (const name of offeredBy) {
      const transaction = await transactions.read(name)
      if (transaction === undefined || transaction.origin === 'remnant') continue
      return { userId: transaction.userId, login: transaction.login }
    }
    return undefined
  }

  const publicPathOf = (device: string, path: string): string | undefined => {
    if (QUESTIONS.test(path)) return path
    const picture = PICTURE.exec(path)
    return picture === null ? undefined : `${picture[1]}${pictureHandle(device, path)}`
  }

  return {
    pictureHandle,

    async keep(device, offered, { handle, stateTokens, ttlMs }) {
      await Promise.all(
        offered.map(async ({ path }) => {
          const publicPath = publicPathOf(device, path)
          const [place] = publicPath === undefined ? [] : places(device, publicPath)
          if (place === undefined) return
          const before = open(await store.get(place), place)
          if (isNewer(before)) return
          const earlier = StoredOffer.safeParse(before).data?.transactions ?? []
          const offeredBy = [...new Set([...transactions.names(handle), ...earlier])].slice(0, MAX_NAMES)
          const offer = JSON.stringify({ version: VERSION, path, stateTokens, transactions: offeredBy })
          await store.set(place, seal.seal(offer, place), ttlMs)
        }),
      )
    },

    async find(device, publicPath) {
      for (const place of places(device, publicPath)) {
        const sealed = await store.get(place)
        if (sealed === undefined) continue
        const { data } = StoredOffer.safeParse(open(sealed, place))
        if (data === undefined) {
          metrics.unreadableRecords.inc({ kind: 'offer' })
          log.warn('unreadable_record', { name: 'offer' })
          continue
        }
        const { path, stateTokens } = data
        const user = await userOf(data)
        if (user !== undefined) return { path, stateTokens, user }
      }
      return undefined
    },
  }
}
