import type { ListOf } from './pam-client.ts'
import { isPamTrouble, PamFailure, type PamTrouble } from './pam-errors.ts'
import type { SharedMarks } from './shared-marks.ts'

/**
 * A list that is refused with every token must not have a token minted for each request. Once a 401 has come for a list,
 * tokens are minted for it once in 60 s, on all replicas. Lists that are not refused have no limit (DESIGN §6).
 */
export interface MintLimit {
  /** Before a token is minted for this list. Throws the last refusal while the limit is used up. */
  claim(): Promise<void>
  /** No token was minted after all. */
  release(): Promise<void>
  refuse(trouble: PamTrouble): Promise<void>
  accept(): Promise<void>
}

const MINT_EVERY_MS = 60_000

/** `marks` names the limits of one team. */
export function createMintLimits({ marks }: { marks: SharedMarks }): (list: ListOf) => MintLimit {
  return (list) => {
    const name = list.kind === 'me' ? ['me', list.user] : ['directory']
    const refused = JSON.stringify(['refused', ...name])
    const minted = JSON.stringify(['minted', ...name])
    let hasClaim = false

    return {
      async claim() {
        hasClaim = false
        const trouble = await marks.get(refused)
        if (trouble === undefined) return
        hasClaim = await marks.set(minted, '', MINT_EVERY_MS, 'absent')
        if (!hasClaim) throw new PamFailure(isPamTrouble(trouble) ? trouble : 'authentication_error')
      },
      async release() {
        if (hasClaim) await marks.delete(minted)
      },
      async refuse(trouble) {
        await marks.set(refused, trouble, MINT_EVERY_MS)
      },
      async accept() {
        if (marks.isKnown(refused)) await marks.delete(refused)
      },
    }
  }
}
