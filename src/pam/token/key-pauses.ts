import type { ExpiringValues } from '../shared/expiring-values.ts'
import type { PamTunables } from '../upstream/pam-deps.ts'
import { isPamOutcome, type PamOutcome } from '../upstream/pam-errors.ts'

/** A service user's key, as the token request contains it. */
export interface PamKey {
  readonly id: string
  readonly secret: string
}

export type KeyPauses = ReturnType<typeof createKeyPauses>

/**
 * Pauses a key that PAM refuses, or for which PAM issues tokens of another team, on all replicas. The pause grows with each
 * refusal in a row. It applies to this id and secret, so a changed key is tried at once.
 */
export function createKeyPauses(values: ExpiringValues, tunables: PamTunables['token']) {
  const { refusedPauseMinMs, refusedPauseMaxMs } = tunables
  return {
    /** The outcome that paused the key; undefined: the key is not paused. */
    async getPauseReason(key: PamKey): Promise<PamOutcome | undefined> {
      const outcome = await values.get(nameOf('paused', key))
      return outcome !== undefined && isPamOutcome(outcome) ? outcome : undefined
    },

    /** @returns the length of the pause in milliseconds */
    async pause(key: PamKey, outcome: PamOutcome): Promise<number> {
      const lastMs = Number((await values.get(nameOf('pause', key))) ?? 0)
      const pauseMs = Math.min(Math.max(lastMs * 2, refusedPauseMinMs), refusedPauseMaxMs)
      await values.set(nameOf('paused', key), outcome, pauseMs)
      // Outlives the pause, because the next refusal reads it.
      await values.set(nameOf('pause', key), String(pauseMs), pauseMs + refusedPauseMaxMs)
      return pauseMs
    },

    async clear(key: PamKey): Promise<void> {
      await values.delete(nameOf('paused', key))
      await values.delete(nameOf('pause', key))
    },
  }
}

function nameOf(value: 'paused' | 'pause', { id, secret }: PamKey): string {
  return JSON.stringify([value, id, secret])
}
