import { createSeal, createSigner } from '../crypto/keys.ts'
import { createLoginNames } from '../login-names.ts'
import { StepAudit } from './audit/step-audit.ts'
import type { AuthnOptions } from './authn-options.ts'
import { createClientOf } from './browser/client.ts'
import { coalesceRequests } from './coalescing/request-coalescing.ts'
import { StepLocks } from './coalescing/step-locks.ts'
import { createEndOthers } from './end-other-sessions.ts'
import { createFetchOffered } from './fetch-offered.ts'
import type { StepSettings } from './plan-step.ts'
import { createCodeCooldown } from './recovery/code-cooldown.ts'
import type { NavigationRoutesOptions } from './redirects/navigation-routes.ts'
import { oktaSignOutUrl } from './redirects/okta-sign-out.ts'
import { createReturnLoops } from './redirects/return-loops.ts'
import { createReturnTo } from './redirects/return-to.ts'
import { SsoTokens } from './redirects/sso-tokens.ts'
import { StepUp } from './redirects/step-up.ts'
import type { AuthnRoutesOptions } from './routes.ts'
import { type RunStepDeps, runStep } from './run-step.ts'
import { createSanitizer } from './sanitize/sanitize.ts'
import { attemptLimits, belowLockout } from './throttling/attempt-limits.ts'
import { createThrottling } from './throttling/throttling.ts'
import { createOfferedResources } from './transaction/offered-resources.ts'
import { createTransactionStore } from './transaction/transaction-store.ts'

const MINUTE_MS = 60_000
/** A step lock outlives the calls to Okta, and another step waits for as long. */
const STEP_MARGIN_MS = 2000
/** How long the result of a step is shared with identical ones. */
const SHARED_RESULT_MS = 5000
/** The shortest time between two upstream polls of a transaction. */
const POLL_EVERY_MS = 1000

/** Creates the sign-in module. */
export function createAuthn(options: AuthnOptions) {
  const {
    store,
    masterKeys,
    deviceCookie,
    sessionCookie,
    sessions,
    publicOrigin,
    log,
    metrics,
    now,
    tunables,
  } = options
  const { upstream, openTransactions, knownDevices, revocationTimes, endAllSessions } = options
  const { recovery } = tunables
  const constants = options.constants.authn ?? {}
  const { pollEveryMs = POLL_EVERY_MS } = constants
  const limits = belowLockout(constants.limits ?? attemptLimits(tunables.limits), options.lockoutAttempts)
  const seal = (label: string) => createSeal(masterKeys, label)
  const signer = (label: string) => createSigner(masterKeys, label)
  const stepMs = options.timeoutMs + STEP_MARGIN_MS
  const hiddenFactors = new Set(options.hiddenFactors)
  const logins = createLoginNames(options.loginDomains)
  const { canonical: canonicalLogin } = logins
  const limitSigner = signer('limit-names')
  const audit = new StepAudit({ log, metrics, hashes: signer('log-hashes'), canonicalLogin })

  const clientOf = createClientOf({
    deviceCookie,
    sessionCookie,
    boundSessions: options.boundSessions,
    forwardedOrigins: options.forwardedOrigins,
  })
  const transactions = createTransactionStore({
    store,
    openTransactions,
    log,
    metrics,
    now,
    seal: seal('transaction'),
    nameSigner: signer('transaction-names'),
  })
  const locks = new StepLocks({
    store,
    metrics,
    now,
    seal: seal('shared-answer'),
    transactions,
    isStored: sessions.exists,
    lockTtlMs: constants.lockTtlMs ?? stepMs,
    sharedMs: SHARED_RESULT_MS,
    waitMs: constants.lockWaitMs ?? stepMs,
    pollEveryMs,
  })
  const throttling = createThrottling({
    store,
    knownDevices,
    audit,
    log,
    now,
    limits,
    nameSigner: limitSigner,
    logins,
  })
  const offeredResources = createOfferedResources({
    store,
    log,
    metrics,
    seal: seal('offer'),
    nameSigner: signer('offer-names'),
    transactions,
  })
  const sanitizer = createSanitizer({
    publicOrigin,
    log,
    metrics,
    resources: offeredResources,
    upstreamOrigins: [options.baseUrl, ...options.linkOrigins],
    ownSecrets: [options.apiToken],
    hiddenFactors,
  })
  const ssoTokens = new SsoTokens({
    store,
    sessions,
    audit,
    log,
    metrics,
    allowed: options.ssoRedirects,
    upstreamOrigin: options.baseUrl,
    publicOrigin,
    signsOut: options.oktaSignOut,
    returnSigner: signer('sign-out-return'),
    seal: seal('hand-over'),
    nameSigner: signer('hand-over-names'),
  })
  const settings: StepSettings = {
    recoveryFrom: options.recoveryFrom,
    publicOrigin,
    recoveryAnswerMs: recovery.recoveryAnswerMs,
    challengeLifetimeMs: recovery.challengeMinutes * MINUTE_MS,
    resendAfterMs: recovery.resendAfterMs,
    maxWrongCodes: recovery.maxWrongCodes,
    hiddenFactors,
    pollEveryMs,
    sessionLimits: sessions.limits,
  }
  const stepDeps: RunStepDeps = {
    settings,
    upstream,
    locks,
    throttling,
    transactions,
    sessions,
    opening: sessions.opening,
    ssoTokens,
    sanitizer,
    offeredResources,
    knownDevices,
    revocationTimes,
    endOthers: createEndOthers({
      endAllSessions,
      sessions,
      audit,
      log,
      now,
      keysOf: (handle) => transactions.namesOf(handle).map(transactions.keyOf),
    }),
    cooldown: createCodeCooldown({
      store,
      nameSigner: limitSigner,
      canonicalLogin,
      audit,
      resendAfterMs: recovery.resendAfterMs,
    }),
    logins,
    store,
    audit,
    log,
    now,
  }
  const run = coalesceRequests((request, lock, client) => runStep(request, lock, client, stepDeps), {
    transactions,
    dedupSigner: signer('step-fingerprints'),
    metrics,
  })
  const stepUp = new StepUp({
    transactions,
    store,
    audit,
    now,
    isEnabled: options.stepUp,
    signInUrl: options.signInUrl,
    limitPerAddress: tunables.limits.stepUpPerAddress,
    addressSigner: limitSigner,
    tokenSigner: signer('imported-token-names'),
  })

  return {
    routes: {
      run,
      fetchOffered: createFetchOffered({ upstream, resources: offeredResources, throttling, sanitizer }),
      clientOf,
      setSession: options.setSession,
    } satisfies AuthnRoutesOptions,
    navigation: {
      stepUp,
      async follow(path, handle, client) {
        const request = { kind: 'redirect', path, handle: typeof handle === 'string' ? handle : '' } as const
        return (await run(request, client)).headers.Location ?? ''
      },
      ssoTokens,
      returnTo: createReturnTo({
        ...options,
        allowed: options.returnTargets,
        loops: createReturnLoops({ ...options, signer: signer('sign-in-returns') }),
      }),
      clientOf,
    } satisfies NavigationRoutesOptions,
    /** Where a browser goes after a sign-out here. */
    oktaSignOut: options.oktaSignOut ? oktaSignOutUrl(options.baseUrl, options.signInUrl) : undefined,
    userLimits: {
      end: ({ userId, login }: { readonly userId: string; readonly login: string | undefined }) =>
        throttling.resetUser({ userId, logins: login === undefined ? [] : [login] }),
      hashLogin: audit.hashLogin,
    },
  }
}
