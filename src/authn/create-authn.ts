import { createSeal, createSigner } from '../crypto/keys.ts'
import type { UserLimits } from '../session/admin-routes.ts'
import { createLoginNames } from '../session/login-names.ts'
import { StepAudit } from './audit.ts'
import type { AuthnOptions } from './authn-options.ts'
import { createClientOf } from './browser/client.ts'
import { createCoalescing } from './coalescing/coalescing.ts'
import { StepLocks } from './coalescing/step-locks.ts'
import { createDeviceRoutes } from './devices/device-routes.ts'
import { createUserDevices } from './devices/user-devices.ts'
import { createRecovery } from './recovery/recovery.ts'
import type { NavigationRoutesOptions } from './redirects/navigation-routes.ts'
import { SsoTokens } from './redirects/sso-tokens.ts'
import { StepUp } from './redirects/step-up.ts'
import type { AuthnRoutesOptions } from './routes.ts'
import { createSanitizer } from './sanitize/sanitize.ts'
import { createEndOtherSessions } from './sign-in/end-other-sessions.ts'
import { createFetchOffered } from './sign-in/fetch-offered.ts'
import { redirectStep } from './sign-in/redirect-step.ts'
import { createRunStep } from './sign-in/run-step.ts'
import { createSendStep } from './sign-in/send-step.ts'
import { createCallLimit, createSignInPacing } from './throttling/call-limits.ts'
import { createForgetKnownDevice } from './throttling/forget-known-device.ts'
import { createThrottling } from './throttling/throttling.ts'
import { createOfferedResources } from './transaction/offered-resources.ts'
import { createTransactionStore, transactionKey } from './transaction/transaction-store.ts'
import { createTransactionSteps } from './transaction-steps.ts'
import type { TokenState } from './upstream/api-tokens.ts'
import { createAuthnUpstream } from './upstream/authn-upstream.ts'

export interface Authn {
  readonly routes: AuthnRoutesOptions
  readonly navigation: NavigationRoutesOptions
  readonly tokenState: () => TokenState
  readonly userLimits: UserLimits
  close(): Promise<void>
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Creates the sign-in module. */
export function createAuthn(options: AuthnOptions): Authn {
  const { store, masterKeys, sessions, log, metrics, now, tunables } = options
  const { transaction, device, recovery, limits } = tunables
  const seal = (label: string) => createSeal(masterKeys, label)
  const signer = (label: string) => createSigner(masterKeys, label)
  const lifetime = {
    minMs: transaction.minTtlMinutes * MINUTE_MS,
    maxMs: transaction.maxTtlMinutes * MINUTE_MS,
    defaultMs: transaction.defaultTtlMinutes * MINUTE_MS,
  }
  const hiddenFactors = new Set(options.hiddenFactors)
  const logins = createLoginNames(options.loginDomains)
  const { canonical: canonicalLogin } = logins
  const limitNames = signer('limit-names')
  const audit = new StepAudit({ log, metrics, hashes: signer('log-hashes'), canonicalLogin })
  const common = { ...options, store, sessions, audit, canonicalLogin, log, metrics, now }

  const clientOf = createClientOf({
    deviceCookie: options.deviceCookie,
    sessionIdIn: options.sessionCookie.readId,
    forwardedOrigins: options.forwardedOrigins,
  })
  const upstream = createAuthnUpstream({
    ...common,
    rateLimit: tunables.authn.rateLimit,
    names: signer('limit-names'),
  })
  const transactions = createTransactionStore({
    ...common,
    seal: seal('transaction'),
    names: signer('transaction-names'),
  })
  const locks = new StepLocks({
    ...common,
    seal: seal('shared-answer'),
    transactions,
    isStored: sessions.exists,
    lockTtlMs: transaction.stepLockMs,
    sharedMs: transaction.sharedAnswerMs,
    waitMs: transaction.stepWaitMs,
    pollEveryMs: transaction.pollEveryMs,
  })
  const throttling = createThrottling({
    ...common,
    limits,
    names: limitNames,
    logins,
    knownMs: device.knownDays * DAY_MS,
  })
  const devices = createUserDevices({
    ...common,
    ttlMs: device.cookieDays * DAY_MS,
    tokens: options.deviceTokens,
    forgetKnownDevice: createForgetKnownDevice({ ...common, names: limitNames, logins }),
  })
  const callLimit = createCallLimit({
    ...common,
    limit: limits.callsPerUser,
    isKnownDevice: throttling.isKnownDevice,
  })
  const signInPacing = createSignInPacing({
    ...common,
    limit: limits.signInsPerUser,
    maxWaitMs: tunables.authn.signInWaitMs,
  })
  const offeredResources = createOfferedResources({
    ...common,
    seal: seal('offer'),
    names: signer('offer-names'),
    transactions,
  })
  const sanitizer = createSanitizer({
    ...common,
    resources: offeredResources,
    upstreamOrigins: [options.baseUrl, ...options.linkOrigins],
    ownSecrets: options.apiTokens,
    hiddenFactors,
  })
  const ssoTokens = new SsoTokens({
    ...common,
    allowed: options.ssoRedirects,
    upstreamOrigin: options.baseUrl,
    seal: seal('hand-over'),
    names: signer('hand-over-names'),
  })
  const sendStep = createSendStep({
    ...common,
    upstream,
    endOtherSessions: createEndOtherSessions({
      ...common,
      keysOf: (handle) => transactions.names(handle).map(transactionKey),
    }),
    ssoTokens,
    throttling,
    offeredResources,
    devices,
    callLimit,
    signInPacing,
    sanitizer,
    lifetime,
    maxOfferedSteps: transaction.maxOfferedSteps,
    redirectOnlyMs: transaction.redirectOnlyMinutes * MINUTE_MS,
    pollEveryMs: transaction.pollEveryMs,
  })
  const recoveries = createRecovery({
    ...common,
    ...recovery,
    upstream,
    sendStep,
    names: limitNames,
    answerMs: recovery.recoveryAnswerMs,
  })
  const steps = createTransactionSteps({
    ...common,
    sendStep,
    recovery: recoveries,
    hiddenFactors,
    isSameLogin: logins.isSameUser,
    deadline: upstream.deadline,
  })
  const runStep = createRunStep({
    ...common,
    coalescing: createCoalescing({ metrics }),
    locks,
    throttling,
    transactions,
    dedupKeys: signer('step-fingerprints'),
    upstream,
  })
  const stepUp = new StepUp({
    ...common,
    isEnabled: options.stepUp,
    transactions,
    limitPerAddress: limits.stepUpPerAddress,
    addressNames: limitNames,
    tokenNames: signer('imported-token-names'),
    ttlMs: lifetime.defaultMs,
    indexMs: lifetime.maxMs + MINUTE_MS, // the clocks of replicas may differ
  })

  return {
    routes: {
      steps,
      sendStep,
      recovery: recoveries,
      audit,
      runStep,
      fetchOffered: createFetchOffered({
        upstream,
        resources: offeredResources,
        callLimit,
        sanitizer,
        maxPictureBytes: transaction.maxPictureBytes,
      }),
      clientOf,
      sessionCookie: options.sessionCookie.setCookie,
      deviceRoutes: createDeviceRoutes({ devices, deviceIdIn: options.deviceCookie.idIn, sessions, log }),
    },
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
      end: ({ userId, login }) =>
        throttling.resetUser({ userId, logins: login === undefined ? [] : [login] }),
      hashLogin: audit.hashLogin,
    },
    close: upstream.close,
  }
}
