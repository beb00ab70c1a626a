import { z } from 'zod'
import { parseStored } from '../../store/stored-json.ts'
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
  let known: DisabledRecord = { offAtMs: Number.NEGATIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY }
  let confirmedAt = Number.NEGATIVE_INFINITY

  return {
    async check() {
      if (monotonic() - confirmedAt >= confirmMs) {
        confirmedAt = monotonic()
        const found = DisabledRecord.safeParse(
          parseStored(await store.get(key()).catch(() => undefined)),
        ).data
        if (found !== undefined && found.offAtMs > known.offAtMs) known = found
      }
      const leftMs = known.untilMs - clock.now()
      if (leftMs > 0)
        throw new PamFailure('disabled_team', { retryAfterMs: Math.min(leftMs, teamDisabledMs) })
      return known.offAtMs
    },

    async begin() {
      const offAtMs = clock.now()
      known = { offAtMs, untilMs: offAtMs + teamDisabledMs }
      // If the store is out of reach, the other replicas find out for themselves.
      await store.set(key(), JSON.stringify(known), Math.max(teamDisabledMs, keptMs)).catch(() => false)
    },
  }
}

const DisabledRecord = z.object({ offAtMs: z.number(), untilMs: z.number() })
type DisabledRecord = z.output<typeof DisabledRecord>
