import { z } from 'zod'
import { parseStoredJson } from '../../store/sealed-records.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'

export interface TeamDisabledOptions
  extends Pick<PamDeps, 'store' | 'names' | 'scope' | 'clock' | 'monotonic' | 'tunables'> {
  /** How long a list may be kept, stale or not. */
  readonly keptMs: number
  /** How long an answer of the store is used. */
  readonly confirmMs: number
}

export type TeamDisabled = ReturnType<typeof createTeamDisabled>

/**
 * After PAM has answered `disabled_team`, no replica calls PAM for a while, and all lists that were read before are invalid.
 * While the store is out of reach, each process has only its own pause.
 */
export function createTeamDisabled(options: TeamDisabledOptions) {
  const { store, names, scope, clock, monotonic, keptMs, confirmMs } = options
  const { teamDisabledMs } = options.tunables
  const key = () => `gatehouse:limit:pam-team:${names.sign(scope)}`
  let disabledAtMs = Number.NEGATIVE_INFINITY
  let invalidBeforeMs = Number.NEGATIVE_INFINITY
  let confirmedAt = Number.NEGATIVE_INFINITY
  let pausedUntil = Number.NEGATIVE_INFINITY

  /** The pause is measured on the monotonic clock, because a PAM server whose clock is ahead may have dated the response. */
  function apply({ offAtMs, untilMs }: DisabledRecord): void {
    disabledAtMs = offAtMs
    invalidBeforeMs = offAtMs
    pausedUntil = monotonic() + Math.min(untilMs - clock.now(), teamDisabledMs)
  }

  return {
    /** Returns the API's time before which lists that were read are invalid. Throws `disabled_team` during the pause. */
    async check(): Promise<number> {
      if (monotonic() - confirmedAt >= confirmMs) {
        confirmedAt = monotonic()
        const stored = parseStoredJson(await store.get(key()).catch(() => undefined))
        const record = DisabledRecord.safeParse(stored).data
        if (record !== undefined && record.offAtMs > disabledAtMs) apply(record)
      }
      const leftMs = pausedUntil - monotonic()
      if (leftMs > 0) throw new PamFailure('disabled_team', { retryAfterMs: leftMs })
      invalidBeforeMs = Math.min(invalidBeforeMs, clock.now())
      return invalidBeforeMs
    },

    async pause(): Promise<void> {
      const offAtMs = clock.now()
      const record = { offAtMs, untilMs: offAtMs + teamDisabledMs }
      apply(record)
      // If the store is out of reach, each replica gets `disabled_team` from PAM itself.
      await store.set(key(), JSON.stringify(record), Math.max(teamDisabledMs, keptMs)).catch(() => false)
    },
  }
}

const DisabledRecord = z.object({ offAtMs: z.number(), untilMs: z.number() })
type DisabledRecord = z.output<typeof DisabledRecord>
