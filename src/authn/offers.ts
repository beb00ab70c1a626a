import { z } from 'zod'
import type { Seal } from '../crypto/seal.ts'
import type { Signer } from '../crypto/sign.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Store } from '../store/store.ts'
import { parseStored } from '../store/stored-json.ts'
import { type OfferedStep, PICTURE } from './links.ts'

/**
 * GETs that the upstream offered: security questions and enrolment pictures. A browser asks for them without a
 * handle (an `<img>` has none to give), so they are found by device and path, and by nobody else.
 */
export interface Offers {
  /** Stands in a picture's path in place of the upstream's token; the same one as long as the path is the same. */
  pictureHandle(device: string, upstreamPath: string): string
  /** `stateTokens` are the transaction's, which must not come out of what is offered either. */
  keep(
    device: string,
    offered: readonly OfferedStep[],
    stateTokens: readonly string[],
    ttlMs: number,
  ): Promise<void>
  /** What is behind a path that this device asks for; undefined: not offered to it. */
  find(device: string, publicPath: string): Promise<Offer | undefined>
}

export interface Offer {
  /** The upstream's own. */
  readonly path: string
  readonly stateTokens: readonly string[]
}

export interface OffersParts {
  readonly store: Store
  readonly seal: Seal
  readonly names: Signer
  readonly log: Logger
  readonly metrics: Metrics
}

const QUESTIONS = /^\/api\/v1\/users\/[^/]+\/factors\/questions$/

const VERSION = 1
const StoredOffer = z.object({
  version: z.literal(VERSION),
  path: z.string(),
  stateTokens: z.array(z.string()).default([]), // once there were none in it
})

/** An offer of any version, to tell a newer one. */
const AnyOffer = z.object({ version: z.number() })

export function createOffers({ store, seal, names, log, metrics }: OffersParts): Offers {
  const pictureHandle: Offers['pictureHandle'] = (device, upstreamPath) =>
    names.sign(JSON.stringify(['picture', device, upstreamPath]))

  const places = (device: string, publicPath: string) =>
    names.signAll(JSON.stringify([device, publicPath])).map((name) => `gatehouse:offer:${name}`)

  const open = (sealed: string | undefined, place: string): unknown =>
    parseStored(sealed === undefined ? undefined : seal.open(sealed, place))

  /** A newer replica wrote it, and goes on with it. */
  const holdsNewer = async (place: string): Promise<boolean> => {
    const { data } = AnyOffer.safeParse(open(await store.get(place), place))
    return data !== undefined && data.version > VERSION
  }

  const publicPathOf = (device: string, path: string): string | undefined => {
    if (QUESTIONS.test(path)) return path
    const picture = PICTURE.exec(path)
    return picture === null ? undefined : `${picture[1]}${pictureHandle(device, path)}`
  }

  return {
    pictureHandle,

    async keep(device, offered, stateTokens, ttlMs) {
      await Promise.all(
        offered.map(async ({ path }) => {
          const publicPath = publicPathOf(device, path)
          const [place] = publicPath === undefined ? [] : places(device, publicPath)
          if (place === undefined || (await holdsNewer(place))) return
          const offer = JSON.stringify({ version: VERSION, path, stateTokens })
          await store.set(place, seal.seal(offer, place), ttlMs)
        }),
      )
    },

    async find(device, publicPath) {
      for (const place of places(device, publicPath)) {
        const sealed = await store.get(place)
        if (sealed === undefined) continue
        const { data } = StoredOffer.safeParse(open(sealed, place))
        if (data !== undefined) return data
        metrics.unreadableRecords.inc({ kind: 'offer' })
        log.warn('unreadable_record', { name: 'offer' })
      }
      return undefined
    },
  }
}
