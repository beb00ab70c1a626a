import type { MasterKeys } from '../crypto/keys.ts'
import { createSeal } from '../crypto/seal.ts'
import { createSigner } from '../crypto/sign.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { UserLimits } from '../session/admin-routes.ts'
import type { EndAllSessions } from '../session/end-all-sessions.ts'
import type { EndedUsers } from '../session/ended-users.ts'
import { createLoginNames } from '../session/login-names.ts'
import type { SessionCookie } from '../session/session-cookie.ts'
import type { Sessions } from '../session/sessions.ts'
import type { UserKeys } from '../session/user-keys.ts'
import { createLimiter, type LimitFigures } from '../store/counting.ts'
import type { Store } from '../store/store.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import { StepAudit } from './audit.ts'
import { createClientOf, type DeviceCookie } from './browser/client.ts'
import { createCoalescing } from './coalescing/coalescing.ts'
import { StepLocks } from './coalescing/step-locks.ts'
import { createRecovery } from './recovery/recovery.ts'
import type { NavigationRoutesParts } from './redirects/navigation-routes.ts'
import type { RedirectPrefix } from './redirects/redirect-target.ts'
import { SsoTokens } from './redirects/sso-tokens.ts'
import { StepUp } from './redirects/step-up.ts'
import type { AuthnRoutesParts } from './routes.ts'
import { createSanitizer } from './sanitize/sanitize.ts'
import { createCommits } from './sign-in/commit.ts'
import { createFetchOffered } from './sign-in/fetch-offered.ts'
import { createEndOtherSessions } from './sign-in/other-sessions.ts'
import { redirectStep } from './sign-in/redirect-step.ts'
import { createRunStep } from './sign-in/run-step.ts'
import type { RunStep } from './sign-in/step.ts'
import { createTakeStep } from './sign-in/take-step.ts'
import { createSteps } from './steps.ts'
import { createCallLimit } from './throttling/call-limit.ts'
import type { AttemptLimits } from './throttling/limits.ts'
import { createThrottling } from './throttling/throttling.ts'
import { createOfferedResources } from './transaction/offered-resources.ts'
import { createTransactionStore, transactionKey } from './transaction/transaction-store.ts'
import type { TokenState } from './upstream/api-tokens.ts'
import { type AuthnRateLimit, createAuthnUpstream } from './upstream/authn-upstream.ts'

/** The room's tunables, as `config/default.json` groups them. */
export interface AuthnTunables {
  readonly authn: { readonly rateLimit: AuthnRateLimit }
  readonly transaction: {
    readonly minTtlMinutes: number
    readonly maxTtlMinutes: number
    readonly defaultTtlMinutes: number
    readonly remnantMinutes: number
    readonly stepLockMs: number
    readonly stepWaitMs: number
    readonly sharedAnswerMs: number
    readonly pollEveryMs: number
    readonly maxOfferedSteps: number
    readonly maxPictureBytes: number
  }
  readonly device: {
    readonly cookieDays: number
    readonly renewAfterHours: number
    readonly knownDays: number
  }
  readonly recovery: {
    readonly recoveryAnswerMs: number
    readonly challengeMinutes: number
    readonly resendAfterMs: number
    readonly maxWrongCodes: number
  }
  readonly limits: AttemptLimits & {
    readonly stepUpPerAddress: LimitFigures
    readonly callsPerPerson: LimitFigures
  }
}

export interface AuthnParts {
  readonly client: UpstreamClient
  /** For all that one step sends, in milliseconds. */
  readonly timeoutMs: number
  /** The org's origin, and its other names. */
  readonly baseUrl: string
  readonly linkOrigins: readonly string[]
  /** The SSWS token in use, then the standby. */
  readonly apiTokens: () => readonly string[]
  readonly stepUp: boolean
  readonly ssoRedirects: readonly RedirectPrefix[]
  readonly loginDomains: readonly string[]
  readonly hiddenFactors: readonly string[]
  readonly publicOrigin: string
  readonly signInUrl: string
  readonly tunables: AuthnTunables
  readonly store: Store
  readonly masterKeys: MasterKeys
  readonly deviceCookie: DeviceCookie
  readonly sessions: Sessions
  readonly sessionCookie: SessionCookie
  /** What ends with all sessions of a user. */
  readonly openTransactions: UserKeys
  readonly knownDevices: UserKeys
  readonly endedUsers: Pick<EndedUsers, 'endedSince'>
  readonly endAllSessions: EndAllSessions
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

export interface Authn {
  readonly routes: AuthnRoutesParts
  readonly navigation: NavigationRoutesParts
  readonly tokenState: () => TokenState
  readonly userLimits: UserLimits
  close(): Promise<void>
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Puts the room together. */
export function createAuthn(parts: AuthnParts): Authn {
  const { store, masterKeys, publicOrigin, apiTokens, log, metrics, now } = parts
  const { deviceCookie, sessions, sessionCookie, openTransactions, knownDevices, endAllSessions } = parts
  const { transaction: figures, device, recovery, limits } = parts.tunables
  const seal = (label: string) => createSeal(masterKeys, label)
  const signer = (label: string) => createSigner(masterKeys, label)
  const upstreamOrigins = [parts.baseUrl, ...parts.linkOrigins] as const
  const lifetime = {
    minMs: figures.minTtlMinutes * MINUTE_MS,
    maxMs: figures.maxTtlMinutes * MINUTE_MS,
    defaultMs: figures.defaultTtlMinutes * MINUTE_MS,
  }
  const hiddenFactors = new Set(parts.hiddenFactors)

  const clientOf = createClientOf({ deviceCookie, sessionIdIn: sessionCookie.idIn })
  const upstream = createAuthnUpstream({
    client: parts.client,
    baseUrl: parts.baseUrl,
    rateLimit: parts.tunables.authn.rateLimit,
    store,
    names: signer('limit-names'),
    apiTokens,
    timeoutMs: parts.timeoutMs,
    log,
    metrics,
    now,
  })
  const transactions = createTransactionStore({
    store,
    seal: seal('transaction'),
    names: signer('transaction-names'),
    openTransactions,
    log,
    metrics,
    now,
  })
  const locks = new StepLocks({
    store,
    seal: seal('shared-answer'),
    transactions,
    isStored: sessions.holds,
    lockTtlMs: figures.stepLockMs,
    sharedMs: figures.sharedAnswerMs,
    waitMs: figures.stepWaitMs,
    pollEveryMs: figures.pollEveryMs,
    metrics,
    now,
  })
  const logins = createLoginNames(parts.loginDomains)
  const canonicalLogin = logins.canonical
  const audit = new StepAudit({ log, metrics, hashes: signer('log-hashes'), canonicalLogin })
  const limitNames = signer('limit-names')
  const throttling = createThrottling({
    store,
    limits,
    names: limitNames,
    logins,
    knownMs: device.knownDays * DAY_MS,
    knownDevices,
    audit,
    log,
    metrics,
    now,
  })
  const callLimit = createCallLimit({
    limit: limits.callsPerPerson,
    canonicalLogin,
    isKnownDevice: throttling.isKnownDevice,
    audit,
    metrics,
    now,
  })
  const offeredResources = createOfferedResources({
    store,
    seal: seal('offer'),
    names: signer('offer-names'),
    transactions,
    log,
    metrics,
  })
  const sanitizer = createSanitizer({
    resources: offeredResources,
    upstreamOrigins: [...upstreamOrigins],
    publicOrigin,
    ownSecrets: apiTokens,
    hiddenFactors,
    log,
    metrics,
  })
  const ssoTokens = new SsoTokens({
    allowed: parts.ssoRedirects,
    upstreamOrigin: parts.baseUrl,
    store,
    seal: seal('hand-over'),
    names: signer('hand-over-names'),
    sessions,
    audit,
    log,
    metrics,
  })
  const takeStep = createTakeStep({
    upstream,
    sessions,
    endedUsers: parts.endedUsers,
    endOtherSessions: createEndOtherSessions({
      endAllSessions,
      keysOf: (handle) => transactions.names(handle).map(transactionKey),
      audit,
      log,
      now,
    }),
    ssoTokens,
    throttling,
    offeredResources,
    audit,
    callLimit,
    sanitizer,
    lifetime,
    maxOfferedSteps: figures.maxOfferedSteps,
    redirectsMs: figures.remnantMinutes * MINUTE_MS,
    pollEveryMs: figures.pollEveryMs,
    log,
    metrics,
    now,
  })
  const steps = createSteps({
    takeStep,
    recovery: createRecovery({
      upstream,
      takeStep,
      store,
      names: limitNames,
      canonicalLogin,
      audit,
      publicOrigin,
      answerMs: recovery.recoveryAnswerMs,
      challengeMinutes: recovery.challengeMinutes,
      resendAfterMs: recovery.resendAfterMs,
      maxWrongCodes: recovery.maxWrongCodes,
      log,
      metrics,
      now,
    }),
    hiddenFactors,
    audit,
    metrics,
    isSameLogin: logins.isSame,
    deadline: upstream.deadline,
  })
  const takeTurn = createRunStep({
    coalescing: createCoalescing({ metrics }),
    locks,
    throttling,
    commits: createCommits({ store, locks, transactions, log }),
    transactions,
    dedupKeys: signer('step-fingerprints'),
    audit,
    metrics,
    now,
  })
  const runStep: RunStep = (step, client) => {
    upstream.look()
    return takeTurn(step, client)
  }
  const fetchOffered = createFetchOffered({
    upstream,
    resources: offeredResources,
    callLimit,
    sanitizer,
    maxPictureBytes: figures.maxPictureBytes,
  })
  const stepUp = new StepUp({
    isEnabled: parts.stepUp,
    signInUrl: parts.signInUrl,
    store,
    transactions,
    limiter: createLimiter({ store, name: 'step_up', figures: limits.stepUpPerAddress }),
    addressNames: limitNames,
    tokenNames: signer('imported-token-names'),
    ttlMs: lifetime.defaultMs,
    indexMs: lifetime.maxMs + MINUTE_MS, // the clocks of two replicas need not agree
    audit,
    metrics,
    now,
  })

  return {
    routes: { steps, runStep, fetchOffered, clientOf, sessionCookie: sessionCookie.opening },
    navigation: {
      stepUp,
      async follow(path, handle, client) {
        const step = redirectStep(path, typeof handle === 'string' ? handle : '', client, sessions)
        return (await runStep(step, client)).headers.Location ?? ''
      },
      ssoTokens,
      clientOf,
    },
    tokenState: upstream.tokenState,
    userLimits: {
      end: ({ userId, login }) => throttling.forgive({ userId, logins: login === undefined ? [] : [login] }),
      hashLogin: audit.hashLogin,
    },
    close: upstream.close,
  }
}
