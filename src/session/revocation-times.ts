import type { Signer } from '../crypto/keys.ts'
import type { Store } from '../store/store.ts'

export type RevocationTimes = ReturnType<typeof createRevocationTimes>

export interface RevocationTimesOptions {
  readonly store: Pick<Store, 'get' | 'set'>
  readonly names: Signer
  readonly now: () => number
}

/** Longer than a transaction lives, however often it is renewed. */
const KEPT_MS = 86_400_000

/**
 * When all sessions of a user last ended. For transactions that did not name their user by then, such as a recovery that
 * waits for its code: no index of the user has them.
 */
export function createRevocationTimes({ store, names, now }: RevocationTimesOptions) {
  const keyOf = (name: string) => `gatehouse:txn:ended:${name}`

  return {
    async record(userId: string): Promise<void> {
      await store.set(keyOf(names.sign(userId)), String(Math.floor(now())), KEPT_MS)
    },

    /** Whether all sessions of the user have ended at this time or later. */
    async revokedSince(userId: string, sinceMs: number): Promise<boolean> {
      const times = await Promise.all(names.signAll(userId).map((name) => store.get(keyOf(name))))
      return times.some((endedAtMs) => Number(endedAtMs) >= Math.floor(sinceMs)) // NaN where there is none
    },
  }
}
