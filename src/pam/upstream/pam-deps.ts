import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Store } from '../../store/store.ts'
import type { UpstreamClock } from '../../upstream/http-api.ts'
import type { StartTimer } from '../../upstream/start-timer.ts'

/** Dependencies that the components of this module share. */
export interface PamDeps {
  readonly store: Pick<Store, 'get' | 'set' | 'delete' | 'deleteIf'>
  /** Identifies the API and the team. */
  readonly scope: string
  /** A Redis key for this API and team. It has an HMAC of the names. */
  readonly keyOf: (kind: PamKeyKind, names?: readonly string[]) => string
  /** `PAM_TEAM` */
  readonly team: string
  /** The path of the team, without a slash at the end. */
  readonly teamPath: string
  /** The API's origin. Links must stay on it. */
  readonly origin: string
  readonly values: SharedValues
  /** The API's time. */
  readonly clock: UpstreamClock
  readonly monotonic: () => number
  readonly random: () => number
  readonly sleep: (ms: number) => Promise<void>
  readonly startTimer: StartTimer
  readonly tunables: PamTunables
  readonly pageLimits: PageLimits
  /** What a caller waits in all. */
  readonly maxWaitMs: number
  readonly log: Logger
  readonly metrics: Metrics
}

/** Short texts with a time to live, by their Redis key. */
export interface SharedValues {
  get(key: string): Promise<string | undefined>
  set(key: string, text: string, ttlMs: number): Promise<void>
}

export type PamKeyKind =
  | 'limit:pam-key'
  | 'limit:pam-team'
  | 'limit:pam-purge'
  | 'lock:pam-token'
  | 'lock:pam-groups'

/** Grouped as in `config/default.json`. */
export interface PamTunables {
  readonly lists: {
    readonly freshMs: number
    readonly staleMs: number
    readonly onErrorMs: number
    readonly meOnErrorMs: number
  }
}

export interface PageLimits {
  readonly maxPages: number
  /** Groups, deleted ones included. */
  readonly maxItems: number
  /** Of one read; the next read continues after it. */
  readonly maxTotalMs: number
}
