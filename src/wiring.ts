import type { RequestListener } from 'node:http'
import { createApp } from './app.ts'
import { createDeviceCookie } from './authn/browser/device-cookie.ts'
import { createAuthn } from './authn/create-authn.ts'
import type { Config } from './config/load-config.ts'
import { createSigner } from './crypto/sign.ts'
import { trustProxies } from './http/client-address.ts'
import { watchEventLoopLag } from './observability/event-loop-lag.ts'
import { createHealth, type Health } from './observability/health.ts'
import { createLogger, type Logger } from './observability/logger.ts'
import { createMetrics, type Metrics } from './observability/metrics.ts'
import { createOps } from './ops.ts'
import { createPam, type Pam, type PamOptions } from './pam/create-pam.ts'
import { pamAbsentRoutes } from './pam/routes.ts'
import { createEndAllSessions } from './session/end-all-sessions.ts'
import { createEndedUsers } from './session/ended-users.ts'
import { createSessionCookie } from './session/session-cookie.ts'
import { createSessions, withSession } from './session/sessions.ts'
import { createUserKeys } from './session/user-keys.ts'
import { openStore } from './store/open-store.ts'
import type { Store } from './store/store.ts'
import { createUpstreamClient, type UpstreamClient } from './upstream/upstream-client.ts'

/** A whole broker, wired and not yet listening. */
export interface Wired {
  readonly app: RequestListener
  readonly ops: RequestListener
  readonly health: Health
  readonly log: Logger
  readonly metrics: Metrics
  /** Lets go of the store and of every upstream connection. */
  close(): Promise<void>
}

export interface WireOptions {
  /** Where log lines go; standard output unless told otherwise. */
  readonly logStream?: NodeJS.WritableStream
  readonly now?: () => number
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** The one place that says "new": here every part is given what it needs, and nothing else. */
export function wire(config: Config, { logStream, now = Date.now }: WireOptions = {}): Wired {
  const { tunables } = config
  const log = createLogger({
    level: config.logLevel,
    maxFieldChars: tunables.log.maxFieldChars,
    now,
    ...(logStream === undefined ? {} : { stream: logStream }),
  })
  const metrics = createMetrics()
  const masterKeys = () => config.secretKeys.current()
  const { secure } = config.publicUrl
  const store = wireStore(config, { log, metrics, now })

  const sessionCookie = createSessionCookie({ masterKeys, secure, sameSite: config.session.sameSite })
  const deviceCookie = createDeviceCookie({
    signer: createSigner(masterKeys, 'device-cookie'),
    secure,
    maxAgeDays: tunables.device.cookieDays,
    renewAfterHours: tunables.device.renewAfterHours,
    now,
  })
  const sessions = createSessions({
    store,
    masterKeys,
    cookie: sessionCookie,
    deviceIdIn: deviceCookie.idIn,
    idleMs: config.session.idleMinutes * MINUTE_MS,
    absoluteMs: config.session.absoluteHours * HOUR_MS,
    extendEveryMs: tunables.session.moveEverySeconds * 1000,
    maxPerUser: tunables.session.maxPerPerson,
    log,
    metrics,
    now,
  })
  const userKeyNames = createSigner(masterKeys, 'user-key-names')
  const endedUsers = createEndedUsers({ store, names: userKeyNames, now })
  const keysOf = (prefix: string) => createUserKeys({ store, names: userKeyNames, prefix, now })
  const openTransactions = keysOf('gatehouse:txn:user:')
  const knownDevices = keysOf('gatehouse:known:user:')
  const endAllSessions = createEndAllSessions({
    sessions,
    openTransactions,
    knownDevices,
    endedUsers,
    refetchAccess: async (login) => pam?.refetch(login),
  })
  const authn = createAuthn({
    ...config.authn,
    client: wireClient('authn', config.authn.baseUrl, config, log, metrics),
    timeoutMs: tunables.upstream.authn.totalTimeoutMs,
    apiTokens: () => config.authn.apiTokens.current(),
    publicOrigin: config.publicUrl.origin,
    signInUrl: config.signInUrl,
    tunables,
    store,
    masterKeys,
    deviceCookie,
    sessions,
    sessionCookie,
    openTransactions,
    knownDevices,
    endedUsers,
    endAllSessions,
    log,
    metrics,
    now,
  })
  const pamClient =
    config.pam === undefined ? undefined : wireClient('pam', config.pam.baseUrl, config, log, metrics)
  const pam = wirePam(config, pamClient, {
    store,
    secretKeys: masterKeys,
    requireSession: sessions.require,
    log,
    metrics,
    now,
  })
  const health = createHealth(
    [
      { name: 'store', run: () => store.ping() },
      { name: 'authn_token', state: authn.tokenState },
      ...(pam === undefined ? [] : [{ name: 'pam', state: pam.state }]),
    ],
    {
      onChange({ name, error }) {
        if (error === undefined) log.info('readiness_check_passed', { name })
        else log.warn('readiness_check_failed', { name }, error)
      },
    },
  )

  const lag = watchEventLoopLag({ windowMs: tunables.http.load.lagWindowMs })
  const app = createApp({
    publicOrigin: config.publicUrl.origin,
    secure,
    allowedOrigins: config.allowedOrigins,
    isTrustedProxy: trustProxies(config.trustProxy),
    limits: tunables.http,
    logThrottle: tunables.log.throttle,
    lagMs: lag.ms,
    sessions,
    sessionCookie,
    endAllSessions,
    ensureDevice: deviceCookie.ensure,
    authn: authn.routes,
    navigation: authn.navigation,
    pamRoutes: pam === undefined ? pamAbsentRoutes() : withSession(sessions, pam.routes),
    log,
    metrics,
  })

  return {
    app,
    ops: createOps({
      health,
      metrics,
      sessions,
      endAllSessions,
      limits: authn.userLimits,
      opsToken: () => config.ops.token?.current(),
      log,
    }),
    health,
    log,
    metrics,
    async close() {
      lag.stop()
      pam?.stop()
      await Promise.all([authn.close(), pamClient?.close(), store.close()])
    },
  }
}

/** Follows a changed `REDIS_URL_FILE` by itself. */
function wireStore(
  { redis, tunables }: Config,
  { log, metrics, now }: { log: Logger; metrics: Metrics; now: () => number },
): Store {
  return openStore({
    url: redis.url,
    ...(redis.ca === undefined ? {} : { ca: redis.ca }),
    connectTimeoutMs: tunables.store.connectTimeoutMs,
    commandTimeoutMs: tunables.store.commandTimeoutMs,
    now,
    onEvent(event) {
      if (event.reason !== undefined) log.warn(event.event, { reason: event.reason })
      else log.info(event.event)
    },
    onFailure: () => metrics.storeFailures.inc(),
  })
}

function wirePam(
  { pam, tunables }: Config,
  client: UpstreamClient | undefined,
  parts: Pick<PamOptions, 'store' | 'secretKeys' | 'requireSession' | 'log' | 'metrics' | 'now'>,
): Pam | undefined {
  if (pam === undefined || client === undefined) return undefined
  const { breaker } = tunables.upstream.pam
  return createPam({
    ...parts,
    ...pam,
    client,
    keys: () => pam.keys.current(),
    tunables: tunables.pam,
    breaker,
  })
}

function wireClient(name: 'authn' | 'pam', baseUrl: string, config: Config, log: Logger, metrics: Metrics) {
  const { breaker, ...limits } = config.tunables.upstream[name]
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
    ca: config.egress.ca === undefined ? undefined : [config.egress.ca],
    httpsProxy: config.egress.httpsProxy?.current(),
    noProxy: config.egress.noProxy.join(','),
    onCall: (outcome, durationMs) =>
      metrics.upstreamCalls.observe({ upstream: name, outcome }, durationMs / 1000),
  })
}
