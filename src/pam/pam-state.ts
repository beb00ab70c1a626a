import type { PamClient } from './lists/pam-client.ts'
import { PamFailure, type PamTrouble } from './upstream/pam-errors.ts'

/** What the last list that was read from PAM proved. */
export interface PamState {
  current(): 'ok' | 'failing' | 'unknown'
  /** The same client, watched. */
  watch(client: PamClient): PamClient
}

export function createPamState(): PamState {
  let state: ReturnType<PamState['current']> = 'unknown'

  return {
    current: () => state,
    watch: (client) => ({
      async groups(...args) {
        try {
          const groups = await client.groups(...args)
          state = 'ok'
          return groups
        } catch (error) {
          if (error instanceof PamFailure && !PROVES_NOTHING.has(error.trouble))
            state = error.trouble === 'unknown_person' ? 'ok' : 'failing'
          throw error
        }
      },
    }),
  }
}

/** The call waited in vain, or was not sent. */
const PROVES_NOTHING: ReadonlySet<PamTrouble> = new Set(['too_many_requests', 'held_back'])
