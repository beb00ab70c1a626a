import type { SharedMarks } from '../shared/shared-marks.ts'
import { isPamTrouble, type PamTrouble } from '../upstream/pam-errors.ts'

/** A service user's key, as it goes into the token request. */
export interface PamKey {
  readonly id: string
  readonly secret: string
}

/**
 * A key for which no token of our team is issued is not tried for a while, by any replica. The pause grows with each
 * refusal in a row. It belongs to this very id and secret, so a changed key is tried at once.
 */
export interface KeyPauses {
  /** Why the key is not to be tried now; undefined: it may be tried. */
  pausedBy(key: PamKey): Promise<PamTrouble | undefined>
  /** @returns how long the key is not tried, in milliseconds */
  pause(key: PamKey, trouble: PamTrouble): Promise<number>
  accept(key: PamKey): Promise<void>
}

export interface KeyPausesTunables {
  readonly refusedPauseMinMs: number
  readonly refusedPauseMaxMs: number
}

export function createKeyPauses({
  marks,
  tunables: { refusedPauseMinMs, refusedPauseMaxMs },
}: {
  marks: SharedMarks
  tunables: KeyPausesTunables
}): KeyPauses {
  return {
    async pausedBy(key) {
      const trouble = await marks.get(nameOf('paused', key))
      return trouble !== undefined && isPamTrouble(trouble) ? trouble : undefined
    },

    async pause(key, trouble) {
      const lastMs = Number((await marks.get(nameOf('pause', key))) ?? 0)
      const pauseMs = Math.min(Math.max(lastMs * 2, refusedPauseMinMs), refusedPauseMaxMs)
      await marks.set(nameOf('paused', key), trouble, pauseMs)
      // Outlives the pause: the next refusal must find it.
      await marks.set(nameOf('pause', key), String(pauseMs), pauseMs + refusedPauseMaxMs)
      return pauseMs
    },

    async accept(key) {
      await marks.delete(nameOf('paused', key))
      await marks.delete(nameOf('pause', key))
    },
  }
}

function nameOf(what: 'paused' | 'pause', { id, secret }: PamKey): string {
  return JSON.stringify([what, id, secret])
}
