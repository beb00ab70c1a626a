import type { SharedMarks } from '../shared/shared-marks.ts'
import type { ListOf } from '../upstream/group.ts'
import { isPamTrouble, PamFailure, type PamTrouble } from '../upstream/pam-errors.ts'
import type { PamKey } from './key-pauses.ts'

/**
 * A list that is refused with every token must not have a token minted for each request. Once a 401 has come for a list,
 * tokens are minted for it once in 60 s, on all replicas. Each 401 also discards the token that everybody uses, so such
 * a list is sent with one that was minted for another list once in 10 s. Other lists have no limit (DESIGN §6).
 */
export interface MintLimit {
  /** Before a token is minted for this list, or an existing one is sent. Throws the last refusal while the limit is used up. */
  claim(use: TokenUse): Promise<void>
  /** The token was not used after all. */
  release(): Promise<void>
  refuse(trouble: PamTrouble): Promise<void>
  accept(): Promise<void>
}

export type TokenUse = keyof typeof EVERY_MS

const EVERY_MS = { mint: 60_000, send: 10_000 } as const
const REFUSED_MS = EVERY_MS.mint

export interface MintLimitsParts {
  /** Names the limits of one team. */
  readonly marks: SharedMarks
  /** Changed keys begin anew: after a change, the broker mints at once (DESIGN §6). */
  readonly keys: () => readonly PamKey[]
}

export function createMintLimits({ marks, keys }: MintLimitsParts): (list: ListOf) => MintLimit {
  return (list) => {
    const name = list.kind === 'me' ? ['me', list.user] : ['directory']
    const refused = JSON.stringify(['refused', ...name])
    let isLimited = false
    let claimed: string | undefined

    return {
      async claim(use) {
        claimed = undefined
        const trouble = await marks.get(refused)
        isLimited = trouble !== undefined
        if (trouble === undefined) return
        const mark = JSON.stringify([use, ...name, keys().map(({ id, secret }) => [id, secret])])
        if (!(await marks.set(mark, '', EVERY_MS[use], 'absent')))
          throw new PamFailure(isPamTrouble(trouble) ? trouble : 'authentication_error')
        claimed = mark
      },
      async release() {
        if (claimed !== undefined) await marks.delete(claimed)
      },
      async refuse(trouble) {
        await marks.set(refused, trouble, REFUSED_MS)
      },
      async accept() {
        if (isLimited || marks.isKnown(refused)) await marks.delete(refused)
        isLimited = false
      },
    }
  }
}
