import type { SharedValues } from '../shared/shared-values.ts'
import type { ListOf } from '../upstream/group.ts'
import { isPamOutcome, PamFailure, type PamOutcome } from '../upstream/pam-errors.ts'
import type { PamKey } from './key-pauses.ts'

/**
 * A list that is refused with every token must not have a token minted for each request. After a 401 for a list, tokens are
 * minted for it once in 60 s, on all replicas. Each 401 also discards the token that all lists use, so such a list is sent with a
 * token that was minted for another list once in 10 s. Other lists have no limit (DESIGN §6).
 */
export interface MintLimit {
  /** Throws the last refusal if a token was minted for this list a moment ago. A failure of `work` does not count. */
  mint<T>(work: () => Promise<T>): Promise<T>
  /** Before an existing token is sent for this list. Throws the last refusal if that is too often. */
  send(): Promise<void>
  refuse(outcome: PamOutcome): Promise<void>
  accept(): Promise<void>
}

const EVERY_MS = { mint: 60_000, send: 10_000 } as const
const REFUSED_MS = EVERY_MS.mint

/** The limit of one list, for one call. Changed keys have limits of their own: after a change, the broker mints at once. */
export function createMintLimit(
  { kind, ...user }: ListOf,
  values: SharedValues,
  keys: () => readonly PamKey[],
): MintLimit {
  const name = [kind, ...Object.values(user)]
  const refused = JSON.stringify(['refused', ...name])
  let isLimited = false

  /** Returns what was claimed; undefined: the list has no limit. */
  async function claim(use: keyof typeof EVERY_MS): Promise<string | undefined> {
    const outcome = await values.get(refused)
    isLimited = outcome !== undefined
    if (outcome === undefined) return undefined
    const claimed = JSON.stringify([use, ...name, keys().map(({ id, secret }) => [id, secret])])
    if (await values.set(claimed, '', EVERY_MS[use], 'absent')) return claimed
    throw new PamFailure(isPamOutcome(outcome) ? outcome : 'authentication_error')
  }

  return {
    async mint(work) {
      const claimed = await claim('mint')
      try {
        return await work()
      } catch (error) {
        if (claimed !== undefined) await values.delete(claimed)
        throw error
      }
    },
    async send() {
      await claim('send')
    },
    async refuse(outcome) {
      await values.set(refused, outcome, REFUSED_MS)
    },
    async accept() {
      if (isLimited) await values.delete(refused)
      isLimited = false
    },
  }
}
