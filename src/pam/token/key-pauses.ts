import type { SharedValues } from '../shared/shared-values.ts'
import type { PamTunables } from '../upstream/pam-deps.ts'
import { isPamOutcome, type PamOutcome } from '../upstream/pam-errors.ts'

/** A service user's key, as the token request contains it. */
export interface PamKey {
  readonly id: string
  readonly secret: string
}

/**
 * A key for which PAM issues no token of our team is not tried for a while, by any replica. The pause grows with each refusal in
 * a row. It belongs to this id and secret, so a changed key is tried at once.
 */
export interface KeyPauses {
  /** Why the key is not tried now; undefined: it may be tried. */
  pausedBy(key: PamKey): Promise<PamOutcome | undefined>
  /** @returns the length of the pause in milliseconds */
  pause(key: PamKey, outcome: PamOutcome): Promise<number>
  accept(key: PamKey): Promise<void>
}

export function createKeyPauses(values: SharedValues, tunables: PamTunables['token']): KeyPauses {
  const { refusedPauseMinMs, refusedPauseMaxMs } = tunables
  return {
    async pausedBy(key) {
      const outcome = await values.get(nameOf('paused', key))
      return outcome !== undefined && isPamOutcome(outcome) ? outcome : undefined
    },

    async pause(key, outcome) {
      const lastMs = Number((await values.get(nameOf('pause', key))) ?? 0)
      const pauseMs = Math.min(Math.max(lastMs * 2, refusedPauseMinMs), refusedPauseMaxMs)
      await values.set(nameOf('paused', key), outcome, pauseMs)
      // Outlives the pause, because the next refusal reads it.
      await values.set(nameOf('pause', key), String(pauseMs), pauseMs + refusedPauseMaxMs)
      return pauseMs
    },

    async accept(key) {
      await values.delete(nameOf('paused', key))
      await values.delete(nameOf('pause', key))
    },
  }
}

function nameOf(what: 'paused' | 'pause', { id, secret }: PamKey): string {
  return JSON.stringify([what, id, secret])
}
