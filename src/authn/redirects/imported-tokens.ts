import type { Signer } from '../../crypto/sign.ts'
import type { Store } from '../../store/store.ts'

/**
 * The index imported state token → transaction. A token has one transaction, however often it is brought in: each import swaps its
 * own in and ends the one that it learns of.
 *
 *     gatehouse:imported:<token>   the name of its transaction; both are HMACs
 */
export interface ImportedTokens {
  /** Makes this the transaction of the token; returns the names of those it had before. More than one only while keys are rotated. */
  take(stateToken: string, name: string): Promise<readonly string[]>
}

export interface ImportedTokensParts {
  readonly store: Pick<Store, 'get' | 'swap'>
  readonly names: Signer
  /** Longer than any imported transaction lives. */
  readonly ttlMs: number
}

export function createImportedTokens({ store, names, ttlMs }: ImportedTokensParts): ImportedTokens {
  return {
    async take(stateToken, name) {
      const [key = '', ...older] = names.signAll(stateToken).map((token) => `gatehouse:imported:${token}`)
      const former = await Promise.all([store.swap(key, name, ttlMs), ...older.map((one) => store.get(one))])
      return former.filter((one) => one !== undefined)
    },
  }
}
