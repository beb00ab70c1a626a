import { z } from 'zod'
import type { Seal } from '../crypto/seal.ts'
import type { Signer } from '../crypto/sign.ts'
import type { Store } from '../store/store.ts'

/**
 * The index user → sessions, so that all of a person's sessions can be found and ended. An entry may outlive its
 * session (one that idled out); it goes with the index, or when somebody looks.
 */
export interface UserSessions {
  add(userId: string, entry: UserSession, ttlMs: number): Promise<void>
  all(userId: string): Promise<UserSession[]>
  remove(userId: string, publicId: string): Promise<void>
}

export interface UserSession {
  readonly publicId: string
  /** The session's own id; sealed in the store. */
  readonly id: string
}

export interface UserSessionsParts {
  readonly store: Store
  readonly seal: Seal
  readonly names: Signer
}

const Entry = z.object({ version: z.literal(1), publicId: z.string(), id: z.string() })

export function createUserSessions({ store, seal, names }: UserSessionsParts): UserSessions {
  const places = (userId: string) => names.signAll(userId).map((name) => `gatehouse:user-sess:${name}`)

  return {
    async add(userId, { publicId, id }, ttlMs) {
      const place = `gatehouse:user-sess:${names.sign(userId)}`
      await store.indexPut(
        place,
        publicId,
        seal.seal(JSON.stringify({ version: 1, publicId, id }), place),
        ttlMs,
      )
    },

    async all(userId) {
      const entries: UserSession[] = []
      for (const place of places(userId)) {
        for (const sealed of Object.values(await store.indexAll(place))) {
          const text = seal.open(sealed, place)
          const entry = text === undefined ? undefined : Entry.safeParse(JSON.parse(text))
          if (entry?.success) entries.push({ publicId: entry.data.publicId, id: entry.data.id })
        }
      }
      return entries
    },

    async remove(userId, publicId) {
      for (const place of places(userId)) await store.indexRemove(place, publicId)
    },
  }
}
