import type { Signer } from '../crypto/keys.ts'
import { KEYS, keyOf } from '../store/keys.ts'
import type { Store } from '../store/store.ts'

export type RevocationTimes = ReturnType<typeof createRevocationTimes>

/** Longer than the lifetime of any transaction. */
const REVOCATION_TTL_MS = 86_400_000

/**
 * The time when all sessions of a user were last ended. It also ends transactions that did not know
 * their user then, such as a recovery that waits for its code: they are in no index of the user.
 */
export function createRevocationTimes(options: { store: Store; nameSigner: Signer; now: () => number }) {
  const { store, nameSigner, now } = options
  const keyFor = (name: string) => keyOf(store, KEYS.revocationTime, name)

  return {
    /** A later time that is recorded already stays. */
    async record(userId: string, atMs = now()): Promise<void> {
      await store.raise(keyFor(nameSigner.sign(userId)), Math.floor(atMs), REVOCATION_TTL_MS)
    },

    /** Whether all sessions of the user were ended at this time or later. */
    async revokedSince(userId: string, sinceMs: number): Promise<boolean> {
      const stored = await Promise.all(nameSigner.signAll(userId).map((name) => store.get(keyFor(name))))
      // NaN if there is none
      return stored.some((revokedAtMs) => Number(revokedAtMs) >= Math.floor(sinceMs))
    },
  }
}
