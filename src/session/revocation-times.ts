import type { Signer } from '../crypto/keys.ts'
import type { Store } from '../store/store.ts'

export type RevocationTimes = ReturnType<typeof createRevocationTimes>

export interface RevocationTimesOptions {
  readonly store: Pick<Store, 'get' | 'set'>
  readonly names: Signer
  readonly now: () => number
}

/** Longer than the lifetime of any transaction. */
const TTL_MS = 86_400_000

/**
 * The time when all sessions of a user were last ended. It also ends transactions that did not know their user then, such as a
 * recovery that waits for its code: they are in no index of the user.
 */
export function createRevocationTimes({ store, names, now }: RevocationTimesOptions) {
  const keyOf = (name: string) => `gatehouse:txn:ended:${name}`

  return {
    async record(userId: string): Promise<void> {
      await store.set(keyOf(names.sign(userId)), String(Math.floor(now())), TTL_MS)
    },

    /** Whether all sessions of the user were ended at this time or later. */
    async revokedSince(userId: string, sinceMs: number): Promise<boolean> {
      const stored = await Promise.all(names.signAll(userId).map((name) => store.get(keyOf(name))))
      return stored.some((revokedAtMs) => Number(revokedAtMs) >= Math.floor(sinceMs)) // NaN if there is none
    },
  }
}
