import { z } from 'zod'
import type { FailFastStore } from '../../store/fail-fast-store.ts'
import { parseStored } from '../../store/stored-json.ts'
import type { UpstreamClock } from '../../upstream/answer-headers.ts'
import { PamFailure } from '../upstream/pam-errors.ts'

/**
 * A disabled team is left alone for a while, by all replicas, and everything that was read before is void. Without
 * the store each process goes by what it was told itself.
 */
export interface TeamSwitch {
  /** Throws `disabled_team` while the team is left alone. Otherwise: lists read before this time are void. */
  check(): Promise<{ readonly voidBeforeMs: number }>
  switchOff(): Promise<void>
}

export interface TeamSwitchParts {
  readonly store: FailFastStore
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly scope: () => string
  readonly disabledMs: number
  /** How long a list may be kept, stale and all. */
  readonly keptMs: number
  /** How long a look into the store holds. */
  readonly confirmMs: number
}

export function createTeamSwitch(parts: TeamSwitchParts): TeamSwitch {
  const { store, clock, monotonic, disabledMs, keptMs, confirmMs } = parts
  const key = () => `gatehouse:limit:pam-team:${parts.scope()}`
  let known: SwitchRecord | undefined
  let confirmedAt = Number.NEGATIVE_INFINITY

  async function confirm(): Promise<void> {
    if (monotonic() - confirmedAt < confirmMs) return
    confirmedAt = monotonic()
    try {
      const found = SwitchRecord.safeParse(parseStored(await store.get(key()))).data
      if (found !== undefined && found.offAtMs > (known?.offAtMs ?? Number.NEGATIVE_INFINITY)) known = found
    } catch {
      // The store is away: what this process was told still holds.
    }
  }

  return {
    async check() {
      await confirm()
      if (known === undefined) return { voidBeforeMs: Number.NEGATIVE_INFINITY }
      const leftMs = known.untilMs - clock.now()
      if (leftMs > 0) throw new PamFailure('disabled_team', { retryAfterMs: Math.min(leftMs, disabledMs) })
      return { voidBeforeMs: known.offAtMs }
    },

    async switchOff() {
      const offAtMs = clock.now()
      known = { offAtMs, untilMs: offAtMs + disabledMs }
      try {
        await store.set(key(), JSON.stringify(known), Math.max(disabledMs, keptMs))
      } catch {
        // The store is away: the others find out for themselves.
      }
    },
  }
}

const SwitchRecord = z.object({ offAtMs: z.number(), untilMs: z.number() })
type SwitchRecord = z.output<typeof SwitchRecord>
