import { z } from 'zod'
import type { Seal } from '../crypto/seal.ts'
import type { Signer } from '../crypto/sign.ts'
import type { Store } from '../store/store.ts'
import { parseStored } from '../store/stored-json.ts'

/**
 * The index user → sessions, so that all of a person's sessions can be found and ended. An entry may outlive its
 * session (one that idled out); it goes with the index, or when somebody looks.
 */
export interface UserSessions {
  /** Says how many entries there are now. */
  add(userId: string, entry: UserSession, ttlMs: number): Promise<number>
  all(userId: string): Promise<UserSession[]>
  remove(userId: string, publicId: string): Promise<void>
}

export interface UserSession {
  readonly publicId: string
  /** The session's own id; sealed in the store. */
  readonly id: string
  readonly createdAtMs: number
}

export interface UserSessionsParts {
  readonly store: Store
  readonly seal: Seal
  readonly names: Signer
  /** Told of an entry that can't be read; it is left alone. */
  readonly onUnreadable?: () => void
}

const Entry = z.object({
  version: z.literal(1),
  publicId: z.string(),
  id: z.string(),
  createdAtMs: z.number(),
})

export function createUserSessions({ store, seal, names, onUnreadable }: UserSessionsParts): UserSessions {
  const placeOf = (name: string) => `gatehouse:user-sess:${name}`
  /** More than one while keys are being rotated. */
  const places = (userId: string) => names.signAll(userId).map(placeOf)

  const entriesAt = async (place: string): Promise<UserSession[]> =>
    Object.values(await store.indexAll(place)).flatMap((sealed) => {
      const text = seal.open(sealed, place)
      const { success, data } = Entry.safeParse(parseStored(text))
      if (!success) {
        onUnreadable?.()
        return []
      }
      const { version: _version, ...entry } = data
      return [entry]
    })

  return {
    async add(userId, { publicId, id, createdAtMs }, ttlMs) {
      const place = placeOf(names.sign(userId))
      const older = places(userId).filter((one) => one !== place)
      const entry = seal.seal(JSON.stringify({ version: 1, publicId, id, createdAtMs }), place)
      const counts = await Promise.all([
        store.indexPut(place, publicId, entry, ttlMs),
        ...older.map(async (one) => Object.keys(await store.indexAll(one)).length),
      ])
      return counts.reduce((sum, count) => sum + count)
    },

    async all(userId) {
      return (await Promise.all(places(userId).map(entriesAt))).flat()
    },

    async remove(userId, publicId) {
      await Promise.all(places(userId).map((place) => store.indexRemove(place, publicId)))
    },
  }
}
