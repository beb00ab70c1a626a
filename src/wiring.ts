import type { RequestListener } from 'node:http'
import { createApp } from './app.ts'
import { createDeviceCookie, createDeviceTokens } from './authn/browser/client.ts'
import { createAuthn } from './authn/create-authn.ts'
import type { Config } from './config/load-config.ts'
import { createSigner } from './crypto/keys.ts'
import { createTrustedProxies } from './http/request-context.ts'
import { watchEventLoopLag } from './observability/event-loop-lag.ts'
import { createHealth, type Health } from './observability/health.ts'
import { createLogger, type Logger } from './observability/logger.ts'
import { createMetrics, type Metrics } from './observability/metrics.ts'
import { VERSION } from './observability/version.ts'
import { createOps } from './ops.ts'
import { createPam, type PamOptions } from './pam/create-pam.ts'
import { createPamNotConfiguredRoutes } from './pam/routes.ts'
import { createEndAllSessions } from './session/end-all-sessions.ts'
import { createRevocationTimes } from './session/revocation-times.ts'
import { createSessionCookie } from './session/session-cookie.ts'
import { createSessions, withSession } from './session/sessions.ts'
import { createUserKeys } from './session/user-indexes.ts'
import { openStore } from './store/open-store.ts'
import type { Store } from './store/store.ts'
import { watchOrgPipeline } from './upstream/org-pipeline.ts'
import { createUpstreamClient, type UpstreamClient } from './upstream/upstream-client.ts'

/** All components of a broker; nothing listens yet. */
export interface Gatehouse {
  readonly app: RequestListener
  readonly ops: RequestListener
  readonly health: Health
  readonly log: Logger
  readonly metrics: Metrics
  /** Starts the checks of the org's pipeline and of the PAM key's expiry, which `close` stops. */
  watchUpstreams(): void
  /** Closes the store and every upstream connection. */
  close(): Promise<void>
}

export interface GatehouseOptions {
  /** Default: standard output. */
  readonly logStream?: NodeJS.WritableStream
  readonly now?: () => number
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** The composition root: creates every component and passes it only what it needs. */
export function createGatehouse(config: Config, options: GatehouseOptions = {}): Gatehouse {
  const { tunables, publicUrl } = config
  const { logStream, now = Date.now } = options
  const log = createLogger({
    level: config.logLevel,
    maxFieldChars: tunables.log.maxFieldChars,
    now,
    ...(logStream === undefined ? {} : { stream: logStream }),
  })
  const metrics = createMetrics()
  metrics.buildInfo.set({ version: VERSION, revision: config.revision }, 1)
  const telemetry = { log, metrics, now }
  const store = createStore(config, telemetry)
  const masterKeys = config.secretKeys.current
  const deps = { store, masterKeys, ...telemetry }
  const { secure } = publicUrl
  const sessionCookie = createSessionCookie({ masterKeys, secure, sameSite: config.session.sameSite })
  const deviceTokens = createDeviceTokens({ ...deps, ttlMs: tunables.device.cookieDays * 24 * HOUR_MS })
  const deviceCookie = createDeviceCookie({
    ...{ ...tunables.device, secure, now },
    signer: createSigner(masterKeys, 'device-cookie'),
    onRenew: deviceTokens.renew,
  })
  const sessions = createSessions({
    ...deps,
    cookie: sessionCookie,
    readDeviceId: deviceCookie.idIn,
    idleMs: config.session.idleMinutes * MINUTE_MS,
    absoluteMs: config.session.absoluteHours * HOUR_MS,
    extendEveryMs: tunables.session.extendEverySeconds * 1000,
    maxPerUser: tunables.session.maxPerUser,
  })
  const names = createSigner(masterKeys, 'user-key-names')
  const revocationTimes = createRevocationTimes({ store, names, now })
  const openTransactions = createUserKeys({ store, names, prefix: 'gatehouse:txn:user:', now })
  const knownDevices = createUserKeys({ store, names, prefix: 'gatehouse:known:user:', now })
  const endAllSessions = createEndAllSessions({
    sessions,
    openTransactions,
    knownDevices,
    revocationTimes,
    refetchAccess: async (login) => pam?.refetch(login),
  })
  const authnClient = createClient('authn', config.authn.baseUrl, config, telemetry)
  let pipelineWatch: ReturnType<typeof watchOrgPipeline> | undefined
  const authn = createAuthn({
    ...deps,
    ...config.authn,
    client: authnClient,
    timeoutMs: tunables.upstream.authn.totalTimeoutMs,
    apiTokens: config.authn.apiTokens.current,
    publicOrigin: publicUrl.origin,
    forwardedOrigins: config.authn.forwardOrigin ? [publicUrl.origin, ...config.allowedOrigins] : [],
    signInUrl: config.signInUrl,
    tunables,
    deviceCookie,
    deviceTokens,
    sessions,
    sessionCookie,
    openTransactions,
    knownDevices,
    revocationTimes,
    endAllSessions,
  })
  const pam = createPamIfConfigured(config, {
    ...telemetry,
    store,
    secretKeys: masterKeys,
    requireSession: sessions.require,
  })
  const health = createHealth(
    [
      { name: 'store', run: () => store.ping() },
      { name: 'authn_token', state: authn.tokenState },
      ...(pam === undefined ? [] : [{ name: 'pam', state: pam.state }]),
    ],
    log,
  )
  const lag = watchEventLoopLag({ windowMs: tunables.http.load.lagWindowMs })

  return {
    app: createApp({
      publicOrigin: publicUrl.origin,
      secure,
      allowedOrigins: config.allowedOrigins,
      isTrustedProxy: createTrustedProxies(config.trustProxy),
      doctorProbes: { signer: createSigner(masterKeys, 'doctor-probe'), now },
      limits: tunables.http,
      logThrottle: tunables.log.throttle,
      lag,
      sessions,
      cookie: sessionCookie,
      endAllSessions,
      ensureDevice: deviceCookie.ensure,
      authn: authn.routes,
      navigation: authn.navigation,
      pamRoutes: pam === undefined ? createPamNotConfiguredRoutes() : withSession(sessions, pam.routes),
      log,
      metrics,
    }),
    ops: createOps({
      health,
      sessions,
      endAllSessions,
      limits: authn.userLimits,
      opsToken: () => config.ops.token?.current(),
      log,
      metrics,
    }),
    health,
    log,
    metrics,
    watchUpstreams() {
      pipelineWatch ??= watchOrgPipeline({ client: authnClient, log, metrics })
      pam?.watchKey()
    },
    async close() {
      lag.stop()
      pipelineWatch?.stop()
      await Promise.all([authn.close(), pam?.close(), store.close()])
    },
  }
}

interface Telemetry {
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** Reconnects when the content of `REDIS_URL_FILE` changes. */
function createStore({ redis, tunables }: Config, { log, metrics, now }: Telemetry): Store {
  return openStore({
    url: redis.url,
    ...(redis.ca === undefined ? {} : { ca: redis.ca }),
    connectTimeoutMs: tunables.store.connectTimeoutMs,
    commandTimeoutMs: tunables.store.commandTimeoutMs,
    now,
    onEvent(change) {
      if ('reason' in change) log.warn(change.event, { reason: change.reason })
      else log.info(change.event)
    },
    onFailure: () => metrics.storeFailures.inc(),
  })
}

type PamDeps = Pick<PamOptions, 'store' | 'secretKeys' | 'requireSession'> & Telemetry

function createPamIfConfigured({ pam: options, ...config }: Config, deps: PamDeps) {
  if (options === undefined) return undefined
  const client = createClient('pam', options.baseUrl, config, deps)
  const pam = createPam({
    ...deps,
    ...options,
    client,
    keys: options.keys.current,
    tunables: config.tunables.pam,
    breaker: config.tunables.upstream.pam.breaker,
  })
  return {
    ...pam,
    close() {
      pam.stop()
      return client.close()
    },
  }
}

function createClient(
  name: 'authn' | 'pam',
  baseUrl: string,
  { tunables, egress }: Pick<Config, 'tunables' | 'egress'>,
  { log, metrics }: Telemetry,
): UpstreamClient {
  const { breaker, ...limits } = tunables.upstream[name]
  metrics.upstreamConcurrencyLimit.set({ upstream: name }, limits.maxConnections)
  return createUpstreamClient({
    baseUrl,
    ...limits,
    breaker: {
      ...breaker,
      onChange(state) {
        metrics.upstreamBreakerOpen.set({ upstream: name }, state === 'open' ? 1 : 0)
        log.warn('upstream_breaker', { upstream: name, state })
      },
    },
    onConcurrencyChange(limit, change) {
      metrics.upstreamConcurrencyLimit.set({ upstream: name }, limit)
      if (change === 'lowered') log.warn('upstream_concurrency_lowered', { upstream: name, count: limit })
    },
    ca: egress.ca === undefined ? undefined : [egress.ca],
    httpsProxy: egress.httpsProxy?.current(),
    noProxy: egress.noProxy.join(','),
    name,
    metrics,
  })
}
