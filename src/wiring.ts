import type { RequestListener } from 'node:http'
import { v4 as uuid } from 'uuid'
import { createApp } from './app.ts'
import type { AuthnConstants } from './authn/authn-options.ts'
import { createDeviceCookie } from './authn/browser/client.ts'
import { createAuthn } from './authn/create-authn.ts'
import { createAuthnUpstream } from './authn/upstream/authn-upstream.ts'
import { createCallLimits } from './bearer-auth/call-limits.ts'
import { ConfigError } from './config/config-error.ts'
import type { Config } from './config/load-config.ts'
import { sharedConfiguration } from './config/shared-configuration.ts'
import { createSigner } from './crypto/keys.ts'
import { AUTHENTICATION_METHODS } from './factor-types.ts'
import { createHandOver } from './forward-auth/hand-over.ts'
import { createIdentityTokens } from './forward-auth/identity-token.ts'
import { createTrustedProxies } from './http/request-context.ts'
import { createLoginHash } from './login-names.ts'
import { createClockCheck } from './observability/clock-check.ts'
import { createHealth, type Health, type HealthOptions } from './observability/health.ts'
import { createLogger, type Logger } from './observability/logger.ts'
import { createMetrics, type Metrics } from './observability/metrics.ts'
import type { Tracing, TracingOptions } from './observability/tracing.ts'
import { VERSION } from './observability/version.ts'
import { OPS_LIMITS } from './ops/admin-routes.ts'
import { createOps } from './ops.ts'
import { createOrgEvents } from './org-events/create-org-events.ts'
import { createVoidTimes } from './org-events/void-times.ts'
import { createPam, type PamOptions } from './pam/create-pam.ts'
import { ROLES } from './pam/roles.ts'
import { createPamNotConfiguredRoutes } from './pam/routes.ts'
import { createRevocation } from './revocation/create-revocation.ts'
import { type BoundSessionTimes, createBoundSessions } from './session/bound-sessions.ts'
import type { SessionsOptions } from './session/session.ts'
import { createSessionCookie } from './session/session-cookie.ts'
import { createSessionRecords } from './session/session-records.ts'
import { createSessions } from './session/sessions.ts'
import { createSetSession } from './session/set-session.ts'
import { KEYS, keyOf } from './store/keys.ts'
import { openStore } from './store/open-store.ts'
import { createKeyRegistry, registryKey, unknownKeys } from './store/secret-key-registry.ts'
import type { Store } from './store/store.ts'
import { trusting } from './upstream/connection-pool.ts'
import { createHttpApi, type HttpApiOptions } from './upstream/http-api.ts'

/** All components of a broker; nothing listens yet. */
export interface Gatehouse {
  readonly app: RequestListener
  readonly ops: RequestListener
  readonly health: Health
  readonly log: Logger
  readonly metrics: Metrics
  /** Closes the store and every upstream connection. */
  close(): Promise<void>
}

export interface GatehouseOptions {
  /** Default: standard output. */
  readonly logStream?: NodeJS.WritableStream
  readonly now?: () => number
  /** For `config.tracing`. */
  readonly createTracing?: (options: TracingOptions) => Tracing
  /** Replaces constants, for tests. */
  readonly constants?: Constants
}

export interface Constants {
  readonly authn?: AuthnConstants
  readonly upstream?: Pick<HttpApiOptions, 'connectTimeoutMs' | 'breaker'>
  readonly sessions?: Pick<SessionsOptions, 'extendEveryMs'>
  readonly boundSessions?: Partial<BoundSessionTimes>
  readonly health?: Pick<HealthOptions, 'checkEveryMs'>
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** The composition root: creates every component and passes it only what it needs. */
export function createGatehouse(config: Config, options: GatehouseOptions = {}): Gatehouse {
  const { tunables, publicUrl } = config
  const { logStream, now = Date.now, constants = {} } = options
  const metrics = createMetrics()
  const instanceId = uuid()
  const log = createLogger({ level: config.logLevel, now, metrics, stream: logStream, instanceId })
  metrics.buildInfo.set({ version: VERSION, revision: config.revision }, 1)
  const tracing = config.tracing && options.createTracing?.({ ...config.tracing, instanceId, log })
  const common = { log, metrics, now, constants, tracing }
  const store = createStore(config, common)
  const masterKeys = config.secretKeys.value
  const deps = { store, masterKeys, ...common }
  const { secure } = publicUrl
  const absoluteMs = config.session.absoluteHours * HOUR_MS
  const { deviceBound, sameSite } = config.session
  const names = { secure, httpOnlyPrefix: deviceBound }
  const sessionCookie = createSessionCookie({ masterKeys, sameSite, ...names })
  const deviceCookie = createDeviceCookie({
    ...names,
    now,
    signer: createSigner(masterKeys, 'device-cookie'),
  })
  const boundSessions = createBoundSessions({
    ...deps,
    secure,
    allowedOrigins: config.allowedOrigins,
    isOffered: deviceBound,
    times: constants.boundSessions,
  })
  const { recheckMinutes } = config.session
  const eventHookSecrets = config.session.eventHookSecrets?.value
  const isUsed = eventHookSecrets !== undefined || recheckMinutes !== undefined
  const voidTimes = createVoidTimes({ store, masterKeys, ttlMs: absoluteMs, isUsed })
  const pam = createPamIfConfigured(config, {
    ...deps,
    hashLogin: createLoginHash(masterKeys, config.authn.loginDomains),
  })
  const apiToken = config.authn.apiToken.value
  const { totalTimeoutMs: timeoutMs, maxConnections } = tunables.upstream.authn
  const authnApi = createApi('authn', config.authn.baseUrl, config, common)
  const okta = createAuthnUpstream({
    api: authnApi,
    apiToken,
    timeoutMs,
    maxConnections,
    ...common,
  })
  const sessionOptions = {
    ...deps,
    voidTimes,
    boundSessions,
    sessionCookie,
    deviceCookie,
    idleMs: config.session.idleMinutes * MINUTE_MS,
    absoluteMs,
    ...constants.sessions,
    maxPerUser: tunables.session.maxPerUser,
  }
  const records = createSessionRecords(sessionOptions)
  const refetchAccess = pam?.refetch ?? (async () => {})
  const { revocationTimes, openTransactions, knownDevices, endAllSessions } = createRevocation({
    ...deps,
    sessions: records,
    refetchAccess,
  })
  const orgEvents = createOrgEvents({
    ...deps,
    revocationTimes,
    endAllSessions,
    eventHookSecrets,
    recheckMinutes,
    voidTimes,
    readUser: okta.readUser,
    refetchAccess,
  })
  const sessions = createSessions(records, { ...sessionOptions, recheck: orgEvents.recheck })
  const handOver = createHandOver({
    ...deps,
    sessions,
    secure,
    sameSite,
    applicationTargets: config.applicationTargets,
  })
  const authn = createAuthn({
    ...deps,
    ...config.authn,
    upstream: okta,
    apiToken,
    timeoutMs,
    publicOrigin: publicUrl.origin,
    secure,
    forwardedOrigins: config.authn.forwardOrigin ? [publicUrl.origin, ...config.allowedOrigins] : [],
    signInUrl: config.signInUrl,
    returnTargets: config.returnTargets,
    handOver,
    tunables,
    deviceCookie,
    sessions,
    sessionCookie,
    boundSessions,
    setSession: createSetSession({ sessionCookie, boundSessions }),
    openTransactions,
    knownDevices,
    revocationTimes,
    endAllSessions,
  })
  const registerKeys = createKeyRegistry({ store, masterKeys, ttlMs: absoluteMs, now })
  const upstreamTimes = { authn: authnApi.time, ...(pam === undefined ? {} : { pam: pam.time }) }
  const clock = createClockCheck({ storeTime: store.time, upstreamTimes, now, log, metrics })
  const health = createHealth({
    async checkStore() {
      await store.ping()
      await clock.check()
      if (!(await registerKeys()))
        throw new ConfigError(`SECRET_KEYS: ${unknownKeys(registryKey(store)).join('. ')}`)
    },
    ...constants.health,
    clock,
    upstreams: { authn_token: okta.tokenState, ...(pam === undefined ? {} : { pam: pam.state }) },
    log,
  })

  return {
    app: createApp({
      publicOrigin: publicUrl.origin,
      secure,
      allowedOrigins: config.allowedOrigins,
      allowedHeaders: config.allowedHeaders,
      isTrustedProxy: createTrustedProxies(config.trustProxy),
      doctorProbes: {
        signer: createSigner(masterKeys, 'doctor-probe'),
        now,
        publicUrl: publicUrl.origin,
        readKey: (nonce) => store.get(keyOf(store, KEYS.doctorProbe, nonce)),
        configuration: sharedConfiguration(config),
      },
      maxRequestsInFlight: tunables.http.maxRequestsInFlight,
      sessions,
      sessionCookie,
      boundSessions,
      store,
      endAllSessions,
      recentSignInMinutes: tunables.session.recentSignInMinutes,
      deviceCookie,
      oktaSignOut: authn.oktaSignOut,
      signOutClears: config.session.signOutClears,
      authn: authn.routes,
      navigation: authn.navigation,
      forwardAuth: {
        identityTokens: createIdentityTokens({ masterKeys, issuer: publicUrl.origin, now }),
        jwtAudiences: config.jwtAudiences,
        readAccess: pam?.readAccess,
        knownValues: { amr: AUTHENTICATION_METHODS, role: ROLES },
        log,
        now,
      },
      handOver,
      orgEvents: orgEvents.routes,
      pamRoutes: pam?.routes(sessions.require) ?? createPamNotConfiguredRoutes(),
      appRoutes: pam?.appRoutes ?? [],
      ...common,
    }),
    ops: createOps({
      revision: config.revision,
      health,
      store,
      sessions,
      endAllSessions,
      limits: authn.userLimits,
      access: {
        opsTokens: config.ops.tokens.value,
        limits: createCallLimits({
          limits: OPS_LIMITS,
          nameSigner: createSigner(masterKeys, 'ops-limit-names'),
          store,
          metrics,
          now,
        }),
      },
      log,
      metrics,
    }),
    health,
    log,
    metrics,
    async close() {
      health.stop()
      await Promise.all([okta.close(), pam?.close(), store.close(), tracing?.close()])
    },
  }
}

interface Common {
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
  readonly constants: Constants
  readonly tracing: Tracing | undefined
}

function createStore({ redis, tunables }: Config, { log, metrics, now, tracing }: Common): Store {
  return openStore({
    ...redis,
    url: redis.url.value,
    privateKey: redis.privateKey?.value,
    now,
    ...tunables.store,
    onEvent(change) {
      if ('reason' in change) log.warn(change.event, { reason: change.reason })
      else log.info(change.event)
    },
    onFailure: () => metrics.storeFailures.inc(),
    onReply: (group, seconds) => metrics.storeCommandDuration.observe({ group }, seconds),
    traced: tracing?.waitForRedis,
  })
}

type PamDeps = Pick<PamOptions, 'store' | 'masterKeys' | 'hashLogin'> & Common

function createPamIfConfigured({ pam: options, ...config }: Config, deps: PamDeps) {
  if (options === undefined) return undefined
  const api = createApi('pam', options.baseUrl, config, deps)
  const pam = createPam({
    ...deps,
    ...options,
    api,
    key: options.key.value,
    appTokens: options.appTokens?.value ?? [],
    tunables: config.tunables.pam,
    breaker: deps.constants.upstream?.breaker,
    maxConnections: config.tunables.upstream.pam.maxConnections,
  })
  return { ...pam, close: api.close, time: api.time }
}

function createApi(
  name: 'authn' | 'pam',
  baseUrl: string,
  { tunables, egress }: Pick<Config, 'tunables' | 'egress'>,
  { log, metrics, tracing, constants: { upstream = {} } }: Common,
) {
  return createHttpApi({
    baseUrl,
    ...tunables.upstream[name],
    ...upstream,
    breaker: {
      ...upstream.breaker,
      onChange(state) {
        metrics.upstreamBreakerOpen.set({ upstream: name }, state === 'open' ? 1 : 0)
        log.warn('upstream_breaker', { upstream: name, state })
      },
    },
    secureContext: trusting(egress.ca),
    httpsProxy: egress.httpsProxy?.value,
    noProxy: egress.noProxy,
    name,
    metrics,
    tracing,
  })
}
