import { setTimeout as delay } from 'node:timers/promises'
import { createSeal, createSigner, type MasterKeys } from '../crypto/keys.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { createFailFastStore } from '../store/fail-fast-store.ts'
import type { Store } from '../store/store.ts'
import { createRateLimitGate } from '../upstream/rate-limit-gate.ts'
import { type StartTimer, startTimer } from '../upstream/start-timer.ts'
import { createUpstreamClock, type UpstreamClient } from '../upstream/upstream-client.ts'
import type { PamDirectory } from './directory-access.ts'
import { createGroupAttributes, StoredAttributes } from './group-attributes.ts'
import { createGroups } from './groups.ts'
import { readKeyDetails } from './key-details.ts'
import { createGroupCache } from './lists/group-cache.ts'
import { createGroupLists } from './lists/group-lists.ts'
import { createListBackoff } from './lists/list-backoff.ts'
import { createListReader } from './lists/list-reader.ts'
import { createListRecords } from './lists/list-records.ts'
import { ReadProgress } from './lists/pages.ts'
import { createPamClient } from './lists/pam-client.ts'
import { createTeamDisabled } from './lists/team-disabled.ts'
import { type PamUserName, toPamUserName } from './pam-user-name.ts'
import { createPamRoutes, type RequireSession } from './routes.ts'
import { createCoalescing } from './shared/coalescing.ts'
import { createExpiringValues } from './shared/expiring-values.ts'
import { createPamRecords } from './shared/pam-records.ts'
import { watchKeyExpiry } from './token/key-expiry.ts'
import { createKeyPauses, type PamKey } from './token/key-pauses.ts'
import { createMint, IssuedToken } from './token/mint-token.ts'
import { createAuthorizedCall, createServiceToken } from './token/token.ts'
import { createPamCall, type PamCallOptions } from './upstream/pam-call.ts'
import type { PamDeps, PamTunables } from './upstream/pam-deps.ts'

export type { PamTunables }

export interface PamOptions {
  readonly client: UpstreamClient
  /** Origin and path, without a slash at the end. */
  readonly baseUrl: string
  readonly team: string
  /** The current key, then the standby. */
  readonly keys: () => readonly PamKey[]
  readonly keyExpiresAtMs?: number | undefined
  /** How often a process checks whether it should read the key's expiry from PAM. */
  readonly keyCheckMs?: number
  /** With the placeholder `{team_name}`. */
  readonly tokenPath: string
  readonly userName: PamUserName
  readonly directory: PamDirectory
  readonly tunables: PamTunables
  readonly breaker: PamCallOptions['breaker']
  readonly store: Store
  readonly secretKeys: MasterKeys
  readonly requireSession: RequireSession
  readonly log: Logger
  readonly metrics: Metrics
  readonly now?: () => number
  readonly monotonic?: () => number
  readonly random?: () => number
  readonly sleep?: (ms: number) => Promise<void>
  readonly startTimer?: StartTimer
}

/** How long a process uses its memory before it checks the store for a purge or a newer list. */
const CONFIRM_MS = 1000
const MAX_MEMORY_BYTES = 64 * 1024 * 1024
const MAX_UNWRITTEN_READS = 100
/** When this share of the rate limit is left, users' own lookups get it before directories and background refreshes. */
const RESERVE_SHARE = 0.25
/** The longest time that the rate-limit gate is closed, even if the reset is later. */
const MAX_CLOSED_MS = 300_000
/** Added to the longest duration of a fetch: a lock must not expire before its fetch ends. */
const LOCK_MARGIN_MS = 5000
const KEY_CHECK_MS = 30_000
const TOKEN_REFRESH_PAUSE_MS = 15_000
const LIST_REFRESH_PAUSE_MS = 2000

/** Composition root of the module. */
export function createPam(options: PamOptions) {
  const { baseUrl, team, keys, tunables, secretKeys, log, metrics } = options
  const { now = Date.now, random = Math.random, sleep = (ms) => delay(ms) } = options
  const { monotonic = () => performance.now() } = options
  const { lists: listTunables, rateLimit, directoryMaxAgeMs } = tunables
  const { origin, pathname } = new URL(baseUrl)
  const basePath = pathname.replace(/\/$/, '')
  const deps: PamDeps = {
    store: createFailFastStore({ store: options.store, monotonic }),
    names: createSigner(secretKeys, 'pam'),
    scope: JSON.stringify([baseUrl, team.toLowerCase()]),
    team,
    teamPath: `${basePath}/v1/teams/${encodeURIComponent(team)}`,
    origin,
    clock: createUpstreamClock({ now, monotonic }),
    monotonic,
    random,
    sleep,
    startTimer: options.startTimer ?? startTimer,
    tunables,
    log,
    metrics,
  }

  const gate = createRateLimitGate({
    ...deps,
    api: 'pam',
    scope: () => deps.names.sign(deps.scope),
    prefix: 'x-ratelimit',
    reserveShare: RESERVE_SHARE,
    maxClosedMs: MAX_CLOSED_MS,
    jitterMs: rateLimit.jitterMs,
    refreshEveryMs: 0,
    onOutcome: (outcome) => metrics.rateLimitHolds.inc({ upstream: 'pam', outcome }),
    onUnreadable: () => metrics.unreadableRecords.inc({ kind: 'limit' }),
  })
  const call = createPamCall({ ...deps, client: options.client, gate, breaker: options.breaker })
  const lockMs = listTunables.maxTotalMs + LOCK_MARGIN_MS

  const mint = createMint({
    ...deps,
    call,
    keys,
    pauses: createKeyPauses(createExpiringValues(deps, 'pam-key'), tunables.token),
    path: basePath + options.tokenPath.replaceAll('{team_name}', encodeURIComponent(team)),
  })
  let keyExpiry: ReturnType<typeof watchKeyExpiry> | undefined
  const token = createServiceToken({
    ...deps,
    mint,
    records: createPamRecords({
      ...deps,
      kind: 'pam-token',
      seal: createSeal(secretKeys, 'pam-token'),
      schema: IssuedToken,
    }),
    coalescing: createCoalescing({ ...deps, lockMs, refreshPauseMs: TOKEN_REFRESH_PAUSE_MS }),
    onNewToken: () => keyExpiry?.readIfDue(),
  })

  const keptMs = {
    directory: Math.max(listTunables.onErrorMs, listTunables.freshMs),
    me: Math.max(listTunables.meOnErrorMs, listTunables.freshMs),
  }
  const teamDisabled = createTeamDisabled({
    ...deps,
    keptMs: Math.max(keptMs.directory, keptMs.me),
    confirmMs: CONFIRM_MS,
  })
  const groupRecords = { kind: 'pam-groups', seal: createSeal(secretKeys, 'pam-groups') } as const
  const lists = createGroupLists({
    ...deps,
    records: createListRecords({ ...deps, ...groupRecords }),
    generations: createExpiringValues(deps, 'pam-purge'),
    team: teamDisabled,
    keptMs,
    confirmMs: CONFIRM_MS,
    maxMemoryBytes: MAX_MEMORY_BYTES,
  })
  const client = createPamClient({
    ...deps,
    call: createAuthorizedCall(call, token, log),
    mintLimits: createExpiringValues(deps, 'pam-mint'),
    keys,
  })
  const reader = createListReader({
    ...deps,
    client,
    lists,
    interrupted: createPamRecords({
      ...deps,
      ...groupRecords,
      schema: ReadProgress,
      maxUnwritten: MAX_UNWRITTEN_READS,
    }),
    backoff: createListBackoff(deps),
    coalescing: createCoalescing({ ...deps, lockMs, refreshPauseMs: LIST_REFRESH_PAUSE_MS }),
    team: teamDisabled,
  })
  const cache = createGroupCache({ ...deps, lists, reader })
  const attributes = createGroupAttributes({
    ...deps,
    records: createPamRecords({ ...deps, ...groupRecords, schema: StoredAttributes }),
    coalescing: createCoalescing({
      ...deps,
      lockMs: rateLimit.maxWaitMs + LOCK_MARGIN_MS,
      refreshPauseMs: LIST_REFRESH_PAUSE_MS,
    }),
    get: async (path, context) =>
      call({ path, bearer: await token.get(context), subject: 'group', isOptional: true, ...context }),
  })
  const { userName, directory, requireSession } = options

  return {
    routes: createPamRoutes({
      groups: createGroups({ cache, userName, directory, directoryMaxAgeMs, attributes }),
      requireSession,
      log,
    }),
    state: client.state,
    /** Makes all replicas read the groups of a signed-in user again. */
    async refetch(login: string): Promise<void> {
      const user = toPamUserName(login, userName)
      if (user !== undefined) await lists.purge({ kind: 'me', user })
    },
    /** Starts to read the key's expiry from PAM, until `stop`. */
    watchKey(): void {
      keyExpiry ??= watchKeyExpiry({
        ...deps,
        now,
        configuredMs: options.keyExpiresAtMs,
        checkMs: options.keyCheckMs ?? KEY_CHECK_MS,
        keyId: () => keys()[0]?.id,
        read(keyId) {
          const bearer = token.inMemory()
          if (bearer === undefined) return undefined
          const context = { isOptional: true, background: true, requestId: undefined }
          return readKeyDetails({
            ...deps,
            keyId,
            get: (path) => call({ path, bearer, subject: 'team', ...context }),
          })
        },
      })
    },
    /** Stops the timers. Running requests continue. */
    stop() {
      token.stop()
      keyExpiry?.stop()
    },
  }
}
