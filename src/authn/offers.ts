import { z } from 'zod'
import type { Seal } from '../crypto/seal.ts'
import type { Signer } from '../crypto/sign.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Store } from '../store/store.ts'
import { type OfferedStep, PICTURE } from './links.ts'

/**
 * GETs that the upstream offered: security questions and enrolment pictures. A browser asks for them without a
 * handle (an `<img>` has none to give), so they are found by device and path, and by nobody else.
 */
export interface Offers {
  /** Stands in a picture's path in place of the upstream's token; the same one as long as the path is the same. */
  pictureHandle(device: string, upstreamPath: string): string
  keep(device: string, offered: readonly OfferedStep[], ttlMs: number): Promise<void>
  /** The upstream's own path behind what this device asks for; undefined: not offered to it. */
  find(device: string, publicPath: string): Promise<string | undefined>
}

export interface OffersParts {
  readonly store: Store
  readonly seal: Seal
  readonly names: Signer
  readonly metrics: Metrics
}

const QUESTIONS = /^\/api\/v1\/users\/[^/]+\/factors\/questions$/

const StoredOffer = z.object({ version: z.literal(1), path: z.string() })

export function createOffers({ store, seal, names, metrics }: OffersParts): Offers {
  const pictureHandle: Offers['pictureHandle'] = (device, upstreamPath) =>
    names.sign(JSON.stringify(['picture', device, upstreamPath]))

  const places = (device: string, publicPath: string) =>
    names.signAll(JSON.stringify([device, publicPath])).map((name) => `gatehouse:offer:${name}`)

  const publicPathOf = (device: string, path: string): string | undefined => {
    if (QUESTIONS.test(path)) return path
    const picture = PICTURE.exec(path)
    return picture === null ? undefined : `${picture[1]}${pictureHandle(device, path)}`
  }

  return {
    pictureHandle,

    async keep(device, offered, ttlMs) {
      await Promise.all(
        offered.map(async ({ path }) => {
          const publicPath = publicPathOf(device, path)
          const [place] = publicPath === undefined ? [] : places(device, publicPath)
          if (place === undefined) return
          await store.set(place, seal.seal(JSON.stringify({ version: 1, path }), place), ttlMs)
        }),
      )
    },

    async find(device, publicPath) {
      for (const place of places(device, publicPath)) {
        const sealed = await store.get(place)
        const text = sealed === undefined ? undefined : seal.open(sealed, place)
        const offer = text === undefined ? undefined : StoredOffer.safeParse(JSON.parse(text))
        if (offer?.success) return offer.data.path
        if (sealed !== undefined) metrics.unreadableRecords.inc({ kind: 'offer' })
      }
      return undefined
    },
  }
}
