import type { PamKey } from './token.ts'

/** A refused key is not tried again for a while that grows with every refusal; a changed key starts anew. */
export interface KeyPauses {
  /** Those that may be tried now, in their order. */
  usable(keys: readonly PamKey[]): PamKey[]
  /** @returns how long it is left alone, in milliseconds */
  refuse(key: PamKey): number
  accept(key: PamKey): void
}

export interface KeyPausesParts {
  readonly refusedPauseMinMs: number
  readonly refusedPauseMaxMs: number
  readonly monotonic: () => number
}

export function createKeyPauses(parts: KeyPausesParts): KeyPauses {
  const { refusedPauseMinMs, refusedPauseMaxMs, monotonic } = parts
  const refused = new Map<string, { pauseMs: number; until: number }>()

  return {
    usable(keys) {
      const named = new Set(keys.map(nameOf))
      for (const name of refused.keys()) if (!named.has(name)) refused.delete(name)
      return keys.filter((key) => (refused.get(nameOf(key))?.until ?? 0) <= monotonic())
    },

    refuse(key) {
      const last = refused.get(nameOf(key))?.pauseMs
      const pauseMs = Math.min(last === undefined ? refusedPauseMinMs : last * 2, refusedPauseMaxMs)
      refused.set(nameOf(key), { pauseMs, until: monotonic() + pauseMs })
      return pauseMs
    },

    accept(key) {
      refused.delete(nameOf(key))
    },
  }
}

function nameOf({ id, secret }: PamKey): string {
  return JSON.stringify([id, secret])
}
