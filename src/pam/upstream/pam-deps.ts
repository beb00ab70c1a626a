import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'
import { createSeal, createSigner, type MasterKeys } from '../../crypto/keys.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { KEYS, keyOf } from '../../store/keys.ts'
import { createSealedRecords } from '../../store/sealed-records.ts'
import type { Store } from '../../store/store.ts'
import { type StartTimer, startTimer } from '../../upstream/timer.ts'
import { createUpstreamClock } from '../../upstream/upstream-clock.ts'

type ListTime = 'freshMs' | 'staleMs' | 'onErrorMs' | 'meOnErrorMs'

export interface PamDepsOptions {
  /** Origin and path, without a slash at the end. */
  readonly baseUrl: string
  readonly team: string
  /** As in `config/default.json`. */
  readonly tunables: { readonly lists: Readonly<Record<ListTime, number>> }
  readonly maxConnections: number
  readonly store: Store
  readonly masterKeys: MasterKeys
  readonly log: Logger
  readonly metrics: Metrics
  /** From here on: for tests. */
  readonly pageLimits?: Partial<typeof PAGE_LIMITS>
  readonly maxWaitMs?: number
  readonly now?: () => number
  readonly monotonic?: () => number
  readonly random?: () => number
  readonly sleep?: (ms: number) => Promise<unknown>
  readonly startTimer?: StartTimer
}

/**
 * A longer list is an error and is never truncated. Deleted groups count. A read that takes longer
 * is continued by the next one.
 */
export const PAGE_LIMITS = { maxPages: 500, maxItems: 50_000, maxTotalMs: 30_000 }
/**
 * What a caller waits in all for the rate limit and for a free connection, and for PAM itself if an
 * older list can be served.
 */
const MAX_WAIT_MS = 2000

type PamKey =
  | 'pamKeyPause'
  | 'pamTeamPause'
  | 'pamGeneration'
  | 'pamRateLimit'
  | 'pamTokenLock'
  | 'pamGroupsLock'
type PamRecord = 'pamToken' | 'pamGroups'

/** The labels of their seals and of `gatehouse_unreadable_records_total`. */
const KINDS = { pamToken: 'pam-token', pamGroups: 'pam-groups' } as const satisfies Record<PamRecord, string>

/** Dependencies that the components of this module share. */
export type PamDeps = ReturnType<typeof createPamDeps>

export function createPamDeps(options: PamDepsOptions) {
  const { baseUrl, team, masterKeys, store, tunables, maxConnections, log, metrics } = options
  const { now = Date.now, monotonic = () => performance.now() } = options
  const { origin, pathname } = new URL(baseUrl)
  const basePath = pathname.replace(/\/$/, '')
  const nameSigner = createSigner(masterKeys, 'pam')
  const scope = JSON.stringify([baseUrl, team.toLowerCase()])
  return {
    store,
    tunables,
    maxConnections,
    log,
    metrics,
    monotonic,
    team,
    origin,
    basePath,
    /** Identifies the API and the team. */
    scope,
    teamPath: `${basePath}/v1/teams/${encodeURIComponent(team)}`,
    /** A Redis key for this API and team. It has an HMAC of the names. */
    keyOf: (kind: PamKey, given: readonly string[] = []) =>
      keyOf(store, KEYS[kind], nameSigner.sign(JSON.stringify([scope, ...given]))),
    recordsOf: <Value extends object>(record: PamRecord, schema: z.ZodType<Value>) => {
      const kind = KINDS[record]
      return createSealedRecords({
        store,
        nameSigner,
        kind,
        log,
        metrics,
        seal: createSeal(masterKeys, kind),
        keyPattern: KEYS[record].pattern,
        schema,
      })
    },
    /** The API's time. */
    clock: createUpstreamClock({ now, monotonic }),
    random: options.random ?? Math.random,
    sleep: options.sleep ?? ((ms: number) => delay(ms)),
    startTimer: options.startTimer ?? startTimer,
    pageLimits: { ...PAGE_LIMITS, ...options.pageLimits },
    maxWaitMs: options.maxWaitMs ?? MAX_WAIT_MS,
  }
}
