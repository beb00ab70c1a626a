import type { ExpiringValues } from '../shared/expiring-values.ts'
import type { ListRef } from '../upstream/group.ts'
import { isPamOutcome, PamFailure, type PamOutcome } from '../upstream/pam-errors.ts'
import type { PamKey } from './key-pauses.ts'

const INTERVAL_MS = { mint: 60_000, send: 10_000 } as const
const REFUSED_MS = INTERVAL_MS.mint

export type MintLimit = ReturnType<typeof createMintLimit>

/**
 * Prevents a list that PAM refuses with every token from having a token minted for each request. After a 401 for a
 * list, tokens are minted for it once in 60 s, over all replicas. Each 401 also discards the token that all lists share, so a
 * refused list is sent with a token that was minted for another list only once in 10 s. Other lists have no limit.
 *
 * The object is for one list and one call. The keys are part of the limit's name, so after a change the broker mints at once.
 */
export function createMintLimit(
  { kind, ...user }: ListRef,
  values: ExpiringValues,
  keys: () => readonly PamKey[],
) {
  const name = [kind, ...Object.values(user)]
  const refused = JSON.stringify(['refused', ...name])
  let isLimited = false

  /** Returns the name of the reservation; undefined: the list has no limit. */
  async function reserve(use: keyof typeof INTERVAL_MS): Promise<string | undefined> {
    const outcome = await values.get(refused)
    isLimited = outcome !== undefined
    if (outcome === undefined) return undefined
    const reservation = JSON.stringify([use, ...name, keys().map(({ id, secret }) => [id, secret])])
    if (await values.set(reservation, '', INTERVAL_MS[use], 'absent')) return reservation
    throw new PamFailure(isPamOutcome(outcome) ? outcome : 'authentication_error')
  }

  return {
    /** Throws the last refusal if a token was minted for this list less than 60 s ago. A failed `mint` does not count. */
    async mint<T>(mint: () => Promise<T>): Promise<T> {
      const reservation = await reserve('mint')
      try {
        return await mint()
      } catch (error) {
        if (reservation !== undefined) await values.delete(reservation)
        throw error
      }
    },

    /** To be called before the list is requested with an existing token. Throws the last refusal if that is too often. */
    async beforeSend(): Promise<void> {
      await reserve('send')
    },

    async recordRefusal(outcome: PamOutcome): Promise<void> {
      await values.set(refused, outcome, REFUSED_MS)
    },

    async recordSuccess(): Promise<void> {
      if (isLimited) await values.delete(refused)
      isLimited = false
    },
  }
}
