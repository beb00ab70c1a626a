import { createSigner, type MasterKeys } from '../crypto/keys.ts'
import type { VoidTimesReader } from '../session/session.ts'
import { KEYS, keyOf } from '../store/keys.ts'
import type { Store } from '../store/store.ts'

export interface VoidTimes extends VoidTimesReader {
  /**
   * All sessions of the user that were created before this time are void. A later time that is
   * recorded already stays.
   */
  record(userId: string, beforeMs: number): Promise<void>
}

export interface VoidTimesOptions {
  readonly store: Pick<Store, 'keyPrefix' | 'get' | 'raise'>
  readonly masterKeys: MasterKeys
  /** The longest lifetime of a session. */
  readonly ttlMs: number
  /** Whether times are recorded at all. Otherwise none is read. */
  readonly isUsed: boolean
}

/** 90 bits of an HMAC: no two users have the same tag. */
const TAG_CHARS = 15

/**
 * When Okta ends a user, one write makes all older sessions void, before they are deleted. The id
 * of a session ends with a tag of its user, so that a request can read this time together with the
 * session's record, whose user is not known yet: one round trip.
 */
export function createVoidTimes({ store, masterKeys, ttlMs, isUsed }: VoidTimesOptions): VoidTimes {
  const tagSigner = createSigner(masterKeys, 'session-tags')
  const toTag = (name: string) => name.slice(0, TAG_CHARS)
  const keyFor = (tag: string) => keyOf(store, KEYS.voidTime, tag)

  return {
    tagOf: (userId) => toTag(tagSigner.sign(userId)),

    async record(userId, beforeMs) {
      await Promise.all(
        tagSigner.signAll(userId).map((name) => store.raise(keyFor(toTag(name)), beforeMs, ttlMs)),
      )
    },

    async timeFor(sessionId) {
      return isUsed ? Number((await store.get(keyFor(sessionId.slice(-TAG_CHARS)))) ?? 0) : 0
    },

    isVoid: ({ createdAtMs }, voidBeforeMs) => createdAtMs < voidBeforeMs,
  }
}
