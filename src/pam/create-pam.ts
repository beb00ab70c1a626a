import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'
import { createSeal, createSigner, type MasterKeys } from '../crypto/keys.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { createSealedRecords, jsonCodec } from '../store/sealed-records.ts'
import type { Store } from '../store/store.ts'
import { createUpstreamClock, type HttpApi } from '../upstream/http-api.ts'
import { type StartTimer, startTimer } from '../upstream/start-timer.ts'
import type { PamDirectory } from './directory-access.ts'
import { createGroups } from './groups.ts'
import { createGroupCache } from './lists/group-cache.ts'
import { createGroupLists, type GroupList } from './lists/group-lists.ts'
import { ListPages, PAGE_LIMITS } from './lists/pages.ts'
import { createPamClient } from './lists/pam-client.ts'
import { createPurges } from './lists/purges.ts'
import { type PamUserName, toPamUserName } from './pam-user-name.ts'
import { createPamRoutes, type RequireSession } from './routes.ts'
import { createCoalescing } from './shared/coalescing.ts'
import { createSharedValues } from './shared/shared-values.ts'
import { createMint, IssuedToken, type PamKey } from './token/mint-token.ts'
import { createAuthorizedCall, createServiceToken } from './token/token.ts'
import { createPamCall, type PamCallOptions } from './upstream/pam-call.ts'
import type { PageLimits, PamDeps, PamTunables } from './upstream/pam-deps.ts'
import { createRateLimit } from './upstream/rate-limit.ts'

export type { PamTunables }

export interface PamOptions {
  readonly api: HttpApi
  /** Origin and path, without a slash at the end. */
  readonly baseUrl: string
  readonly team: string
  readonly key: PamKey
  readonly keyExpiresAtMs?: number | undefined
  /** With the placeholder `{team_name}`. */
  readonly tokenPath: string
  readonly userName: PamUserName
  readonly directory: PamDirectory
  readonly tunables: PamTunables
  /** Replaces constants, for tests. */
  readonly pageLimits?: Partial<PageLimits>
  readonly maxWaitMs?: number
  readonly breaker?: PamCallOptions['breaker']
  readonly maxConnections: number
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

/** What a caller waits in all for the rate limit and for a free connection, and for PAM itself if an older list can be served. */
const MAX_WAIT_MS = 2000
/** Added to the longest duration of a fetch: a lock must not expire before its fetch ends. */
const LOCK_MARGIN_MS = 5000

/** Composition root of the module. */
export function createPam(options: PamOptions) {
  const { team, key, userName, directory, requireSession, log } = options
  const { deps, basePath, recordsOf } = createDeps(options)
  const lockMs = deps.pageLimits.maxTotalMs + LOCK_MARGIN_MS
  const rateLimit = createRateLimit({ ...deps, maxConnections: options.maxConnections })
  const call = createPamCall({ ...deps, api: options.api, rateLimit, breaker: options.breaker })
  const tokenPath = basePath + options.tokenPath.replaceAll('{team_name}', encodeURIComponent(team))
  const token = createServiceToken({
    ...deps,
    mint: createMint({ ...deps, call, key, path: tokenPath }),
    records: recordsOf('pam-token', IssuedToken),
    coalesce: createCoalescing({ ...deps, lockMs }),
  })
  const records = recordsOf('pam-groups', ListPages)
  const purges = createPurges(deps)
  const lists = createGroupLists({ ...deps, records, purges })
  const client = createPamClient({ ...deps, call: createAuthorizedCall(call, token, log) })
  const coalesce = createCoalescing<GroupList>({ ...deps, lockMs })
  const cache = createGroupCache({ ...deps, lists, purges, client, coalesce, interrupted: records })
  const groups = createGroups({ cache, userName, directory })
  if (options.keyExpiresAtMs !== undefined)
    options.metrics.pamKeyExpiry.set(Math.floor(options.keyExpiresAtMs / 1000))

  return {
    routes: createPamRoutes({ groups, requireSession, log }),
    state: client.state,
    /** Makes all replicas read the groups of a signed-in user again. */
    async refetch(login: string): Promise<void> {
      const user = toPamUserName(login, userName)
      if (user !== undefined) await lists.purge({ kind: 'me', user })
    },
  }
}

function createDeps({ baseUrl, team, secretKeys, tunables, log, metrics, ...options }: PamOptions) {
  const { now = Date.now, monotonic = () => performance.now() } = options
  const { origin, pathname } = new URL(baseUrl)
  const basePath = pathname.replace(/\/$/, '')
  const { store } = options
  const names = createSigner(secretKeys, 'pam')
  const scope = JSON.stringify([baseUrl, team.toLowerCase()])
  const deps: PamDeps = {
    store,
    scope,
    keyOf: (kind, given = []) => `gatehouse:${kind}:${names.sign(JSON.stringify([scope, ...given]))}`,
    team,
    teamPath: `${basePath}/v1/teams/${encodeURIComponent(team)}`,
    origin,
    values: createSharedValues({ store, monotonic }),
    clock: createUpstreamClock({ now, monotonic }),
    monotonic,
    random: options.random ?? Math.random,
    sleep: options.sleep ?? ((ms) => delay(ms)),
    startTimer: options.startTimer ?? startTimer,
    tunables,
    pageLimits: { ...PAGE_LIMITS, ...options.pageLimits },
    maxWaitMs: options.maxWaitMs ?? MAX_WAIT_MS,
    log,
    metrics,
  }
  const recordsOf = <Value extends object>(kind: 'pam-token' | 'pam-groups', schema: z.ZodType<Value>) =>
    createSealedRecords({
      ...{ store, names, kind, log, metrics },
      seal: createSeal(secretKeys, kind),
      keyOf: (hmac) => `gatehouse:${kind}:${hmac}`,
      codec: jsonCodec(schema),
    })
  return { deps, basePath, recordsOf }
}
