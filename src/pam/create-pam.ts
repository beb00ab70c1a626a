import { setTimeout as delay } from 'node:timers/promises'
import type { MasterKeys } from '../crypto/keys.ts'
import { createSeal } from '../crypto/seal.ts'
import { createSigner } from '../crypto/sign.ts'
import type { Route } from '../http/routes.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { createFailFastStore } from '../store/fail-fast-store.ts'
import type { Store } from '../store/store.ts'
import { createUpstreamClock } from '../upstream/answer-headers.ts'
import type { BreakerOptions } from '../upstream/breaker.ts'
import { createRateLimitGate } from '../upstream/rate-limit-gate.ts'
import { type StartTimer, startTimer } from '../upstream/start-timer.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import { createGroups, type PamDirectory } from './groups.ts'
import { createGroupCache, type ListTunables } from './lists/group-cache.ts'
import { type CachedList, createGroupLists } from './lists/group-lists.ts'
import { createListBackoff } from './lists/list-backoff.ts'
import { createListReader } from './lists/list-reader.ts'
import type { PageLimits } from './lists/pages.ts'
import { createPamClient } from './lists/pam-client.ts'
import { createPausedReads } from './lists/paused-reads.ts'
import { createTeamSwitch } from './lists/team-switch.ts'
import { createPamState, type PamState } from './pam-state.ts'
import { type PamUserName, pamUserOf } from './pam-user.ts'
import { createPamRoutes, type RequireSession } from './routes.ts'
import { createSealedRecords } from './shared/sealed-records.ts'
import { createSharedFlight } from './shared/shared-flight.ts'
import { createSharedMarks } from './shared/shared-marks.ts'
import { watchKeyExpiry } from './token/key-expiry.ts'
import { createKeyPauses, type KeyPausesTunables, type PamKey } from './token/key-pauses.ts'
import { createMintLimits } from './token/mint-limit.ts'
import { createMint } from './token/mint-token.ts'
import { createPamToken, type HeldToken, type PamTokenTunables } from './token/token.ts'
import { createPamCall } from './upstream/pam-call.ts'

/** The room's tunables, as `config/default.json` groups them. */
export interface PamTunables {
  readonly token: PamTokenTunables & KeyPausesTunables
  readonly lists: ListTunables & PageLimits
  readonly rateLimit: { readonly maxWaitMs: number; readonly jitterMs: number }
  readonly directoryMaxAgeMs: number
  readonly unknownUserMs: number
  readonly teamDisabledMs: number
}

export interface PamParts {
  readonly client: UpstreamClient
  /** An origin, and a path if the API is served under one; without a slash at the end. */
  readonly baseUrl: string
  readonly team: string
  /** The current key, then the standby. */
  readonly keys: () => readonly PamKey[]
  readonly keyExpiresAtMs?: number | undefined
  /** With the placeholder `{team_name}`. */
  readonly tokenPath: string
  readonly userName: PamUserName
  readonly directory: PamDirectory
  readonly tunables: PamTunables
  /** For an API that answers, but only that it is offline. */
  readonly breaker: Pick<BreakerOptions, 'consecutiveFailures' | 'halfOpenAfterMs'>
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

export interface Pam {
  readonly routes: Route[]
  readonly state: PamState['current']
  /** Has the groups of a signed-in user fetched again, on all replicas. */
  refetch(login: string): Promise<void>
  /** Ends timers; running requests go on. */
  stop(): void
}

/** How long this process trusts its memory before it looks into the store for a purge or a newer list. */
const CONFIRM_MS = 1000
const MAX_MEMORY_BYTES = 64 * 1024 * 1024
/** At this share of the rate limit and below it, directories and background refreshes give way to users' own lookups. */
const LOW_SHARE = 0.25
/** The rate-limit gate is never closed for longer, however far away a reset is said to be. */
const MAX_CLOSED_MS = 300_000
/** Locks outlive what they guard by this. */
const LOCK_MARGIN_MS = 5000

/** Puts the room together. */
export function createPam(parts: PamParts): Pam {
  const { client, baseUrl, team, keys, tunables, secretKeys, requireSession, log, metrics } = parts
  const { now = Date.now, monotonic = () => performance.now(), random = Math.random } = parts
  const { sleep = (ms) => delay(ms) } = parts
  const { lists: listTunables, rateLimit } = tunables
  const { origin, pathname } = new URL(baseUrl)
  const basePath = pathname.replace(/\/$/, '')
  const store = createFailFastStore({ store: parts.store, monotonic })

  const signer = createSigner(secretKeys, 'pam')
  const name = JSON.stringify([baseUrl, team.toLowerCase()])
  const scope = () => signer.sign(name)
  const clock = createUpstreamClock({ now, monotonic })
  const gate = createRateLimitGate({
    store,
    clock,
    monotonic,
    api: 'pam',
    scope,
    prefix: 'x-ratelimit',
    lowShare: LOW_SHARE,
    maxClosedMs: MAX_CLOSED_MS,
    jitterMs: rateLimit.jitterMs,
    lookEveryMs: 0,
    random,
    sleep,
    onOutcome: (outcome) => metrics.pamGateWaits.inc({ outcome }),
    onUnreadable: () => metrics.unreadableRecords.inc({ kind: 'limit' }),
  })
  const call = createPamCall({
    client,
    gate,
    clock,
    breaker: parts.breaker,
    monotonic,
    random,
    sleep,
    log,
    metrics,
  })
  const marksOf = (kind: 'pam-key' | 'pam-mint' | 'pam-purge') =>
    createSharedMarks({
      store,
      keyOf: (mark) => `gatehouse:limit:${kind}:${signer.sign(JSON.stringify([name, mark]))}`,
      monotonic,
    })
  const flightParts = { store, monotonic, sleep, lockMs: listTunables.maxTotalMs + LOCK_MARGIN_MS }

  const mint = createMint({
    call,
    clock,
    keys,
    pauses: createKeyPauses({ marks: marksOf('pam-key'), tunables: tunables.token }),
    team,
    path: basePath + parts.tokenPath.replaceAll('{team_name}', encodeURIComponent(team)),
    maxWaitMs: rateLimit.maxWaitMs,
    timeoutMs: listTunables.maxTotalMs,
    log,
    metrics,
  })
  const token = createPamToken({
    mint,
    clock,
    records: createSealedRecords({
      store,
      seal: createSeal(secretKeys, 'pam-token'),
      signer,
      metrics,
      log,
      kind: 'pam-token',
    }),
    flights: createSharedFlight<HeldToken>(flightParts),
    name,
    tunables: tunables.token,
    monotonic,
    random,
    log,
    metrics,
  })
  const keptMs = {
    directory: Math.max(listTunables.onErrorMs, listTunables.freshMs),
    me: Math.max(listTunables.meOnErrorMs, listTunables.freshMs),
  }
  const records = createSealedRecords({
    store,
    seal: createSeal(secretKeys, 'pam-groups'),
    signer,
    metrics,
    log,
    kind: 'pam-groups',
  })
  const paused = createPausedReads({ records, keptMs: listTunables.staleMs })
  const lists = createGroupLists({
    records,
    generations: marksOf('pam-purge'),
    scope: name,
    keptMs,
    unknownUserMs: tunables.unknownUserMs,
    confirmMs: CONFIRM_MS,
    maxMemoryBytes: MAX_MEMORY_BYTES,
    monotonic,
  })
  const teamSwitch = createTeamSwitch({
    store,
    clock,
    monotonic,
    scope,
    disabledMs: tunables.teamDisabledMs,
    keptMs: Math.max(keptMs.directory, keptMs.me),
    confirmMs: CONFIRM_MS,
  })
  const state = createPamState()
  const reader = createListReader({
    client: state.watch(
      createPamClient({
        call,
        token,
        mintLimitOf: createMintLimits({ marks: marksOf('pam-mint'), keys }),
        origin,
        basePath,
        team,
        limits: listTunables,
        maxWaitMs: rateLimit.maxWaitMs,
        clock,
        monotonic,
        log,
        metrics,
      }),
    ),
    lists,
    paused,
    backoff: createListBackoff({ monotonic }),
    team: teamSwitch,
    clock,
    monotonic,
  })
  const cache = createGroupCache({
    reader,
    lists,
    flights: createSharedFlight<CachedList>(flightParts),
    team: teamSwitch,
    clock,
    monotonic,
    startTimer: parts.startTimer ?? startTimer,
    tunables: listTunables,
    maxWaitMs: rateLimit.maxWaitMs,
    unknownUserMs: tunables.unknownUserMs,
    metrics,
  })
  const keyExpiry = watchKeyExpiry({ expiresAtMs: parts.keyExpiresAtMs, now, log, metrics })

  return {
    routes: createPamRoutes({
      groups: createGroups({
        cache,
        userName: parts.userName,
        directory: parts.directory,
        directoryMaxAgeMs: tunables.directoryMaxAgeMs,
      }),
      requireSession,
      log,
    }),
    state: state.current,
    async refetch(login) {
      const user = pamUserOf(login, parts.userName)
      if (user !== undefined) await cache.purge({ kind: 'me', user })
    },
    stop() {
      token.stop()
      keyExpiry.stop()
    },
  }
}
