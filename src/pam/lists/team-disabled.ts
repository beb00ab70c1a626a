import { z } from 'zod'
import { parseStoredJson } from '../../store/sealed-records.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'

/**
 * A team that is disabled in PAM: no replica calls PAM for a while, and all lists that were read before are void. Without the
 * store, each process relies on what PAM told it.
 */
export interface TeamDisabled {
  /** Throws `disabled_team` during the pause. Otherwise lists that were read before the returned time, the API's, are void. */
  check(): Promise<number>
  begin(): Promise<void>
}

export interface TeamDisabledOptions
  extends Pick<PamDeps, 'store' | 'names' | 'scope' | 'clock' | 'monotonic' | 'tunables'> {
  /** How long a list may be kept, stale or not. */
  readonly keptMs: number
  /** How long an answer of the store is relied on. */
  readonly confirmMs: number
}

export function createTeamDisabled(options: TeamDisabledOptions): TeamDisabled {
  const { store, names, scope, clock, monotonic, keptMs, confirmMs } = options
  const { teamDisabledMs } = options.tunables
  const key = () => `gatehouse:limit:pam-team:${names.sign(scope)}`
  let known = { offAtMs: Number.NEGATIVE_INFINITY, voidBeforeMs: Number.NEGATIVE_INFINITY }
  let confirmedAt = Number.NEGATIVE_INFINITY
  let pausedUntil = Number.NEGATIVE_INFINITY

  /** The pause is measured without the API's time: the answer may have been dated by a server whose clock is ahead. */
  function learn({ offAtMs, untilMs }: DisabledRecord): void {
    known = { offAtMs, voidBeforeMs: offAtMs }
    pausedUntil = monotonic() + Math.min(untilMs - clock.now(), teamDisabledMs)
  }

  return {
    async check() {
      if (monotonic() - confirmedAt >= confirmMs) {
        confirmedAt = monotonic()
        const found = DisabledRecord.safeParse(
          parseStoredJson(await store.get(key()).catch(() => undefined)),
        ).data
        if (found !== undefined && found.offAtMs > known.offAtMs) learn(found)
      }
      const leftMs = pausedUntil - monotonic()
      if (leftMs > 0) throw new PamFailure('disabled_team', { retryAfterMs: leftMs })
      known.voidBeforeMs = Math.min(known.voidBeforeMs, clock.now())
      return known.voidBeforeMs
    },

    async begin() {
      const offAtMs = clock.now()
      const record = { offAtMs, untilMs: offAtMs + teamDisabledMs }
      learn(record)
      // If the store is out of reach, the other replicas find out for themselves.
      await store.set(key(), JSON.stringify(record), Math.max(teamDisabledMs, keptMs)).catch(() => false)
    },
  }
}

const DisabledRecord = z.object({ offAtMs: z.number(), untilMs: z.number() })
type DisabledRecord = z.output<typeof DisabledRecord>
