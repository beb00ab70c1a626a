import type { Signer } from '../../crypto/keys.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { FailFastStore } from '../../store/fail-fast-store.ts'
import type { StartTimer } from '../../upstream/start-timer.ts'
import type { UpstreamClock } from '../../upstream/upstream-client.ts'

/** Dependencies that the components of this module share. */
export interface PamDeps {
  readonly store: FailFastStore
  /** Signs the names in Redis keys. */
  readonly names: Signer
  /** Identifies the API and the team in these names. */
  readonly scope: string
  /** `PAM_TEAM` */
  readonly team: string
  /** The path of the team, without a slash at the end. */
  readonly teamPath: string
  /** The API's origin. Links must stay on it. */
  readonly origin: string
  /** The API's time. */
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly startTimer: StartTimer
  readonly tunables: PamTunables
  readonly log: Logger
  readonly metrics: Metrics
}

/** Grouped as in `config/default.json`. */
export interface PamTunables {
  readonly token: {
    readonly refreshBeforeMs: number
    readonly refreshBeforeShare: number
    /** A refresh starts earlier by a random part of this share of the time before expiry. */
    readonly jitterShare: number
    readonly refusedPauseMinMs: number
    readonly refusedPauseMaxMs: number
  }
  readonly lists: ListTunables
  readonly rateLimit: { readonly maxWaitMs: number; readonly jitterMs: number }
  readonly directoryMaxAgeMs: number
  readonly unknownUserMs: number
  readonly teamDisabledMs: number
}

export interface ListTunables {
  readonly freshMs: number
  readonly staleMs: number
  readonly onErrorMs: number
  readonly meOnErrorMs: number
  readonly maxTotalMs: number
  readonly maxPages: number
  readonly maxItems: number
  readonly maxLinkHeaderBytes: number
}
