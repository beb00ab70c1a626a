import type { Sandbox } from 'gatehouse-sandbox/sandbox'
import { type Browser, openBrowser } from './browser.ts'
import { useFixture } from './fixture.ts'
import { type Gatehouse, type GatehouseOptions, startGatehouse, TEST_KEY } from './gatehouse.ts'
import { watchSecrets } from './harness-secrets.ts'
import { type RedisServer, type RedisServerOptions, startRedis } from './redis-server.ts'
import { type SandboxUpstreamOptions, startSandboxUpstream } from './sandbox-upstream.ts'
import { type StubListener, type StubUpstream, startStubUpstream } from './stub-upstream.ts'
import { startTraceCollector, type TraceCollector } from './trace-collector.ts'

/**
 * The sandbox, a real Redis and one or more brokers. Further broker processes join with
 * `signInEnv`.
 */
export interface Harness {
  readonly sandbox: Sandbox
  readonly redis: RedisServer
  readonly gatehouse: Gatehouse
  /** The address of the sandbox's Authentication API. */
  readonly authnUrl: string
  readonly pamUrl: string
  /** Gets the traces of every broker in this process. */
  readonly collector: TraceCollector
  /** The environment of a further replica, without PAM. */
  readonly signInEnv: Readonly<Record<string, string>>
  /** The environment that adds PAM. */
  readonly pamEnv: Readonly<Record<string, string>>
  /** A fresh browser that has asked for its session first, as a portal's page does. */
  visit(): Promise<Browser>
  /** Another replica on the same Redis and upstream. */
  replica(env?: Record<string, string>): Promise<Gatehouse>
  /** The requests that the Authentication API received since the last `clearUpstreamCalls()`. */
  upstreamCalls(): Sandbox['requestLog']['authn']['entries']
  clearUpstreamCalls(): void
  /**
   * Throws if a secret is found anywhere (harness-secrets.ts) or an audit line does not match its
   * schema.
   */
  stop(): Promise<void>
}

export interface HarnessOptions extends Partial<GatehouseOptions>, SandboxUpstreamOptions {
  readonly redis?: RedisServerOptions
}

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const { sandboxConfig, sandboxNow, env, redis: redisOptions, ...rest } = options
  const upstream = await startSandboxUpstream({ sandboxConfig, sandboxNow })
  const { sandbox, authnUrl } = upstream
  const redis = await startRedis(redisOptions)
  const collector = await startTraceCollector()
  const secrets = await watchSecrets({ sandbox, redis, authnUrl, keys: upstream.pamKeys })
  const signInEnv = { ...upstream.signInEnv, REDIS_URL: redis.url, SECRET_KEYS: TEST_KEY }
  const brokers: Gatehouse[] = []

  const start = async (extra: Record<string, string> = {}) => {
    const broker = await startGatehouse({
      ...rest,
      env: {
        ...signInEnv,
        ...upstream.pamEnv,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
        ...env,
        ...extra,
      },
    })
    brokers.push(broker)
    return broker
  }
  const close = async () => {
    secrets.stop()
    const stopped = await Promise.allSettled(brokers.map((broker) => broker.stop()))
    await upstream.close()
    await redis.stop()
    await collector.close()
    secrets.checkTraces(collector)
    for (const one of stopped) if (one.status === 'rejected') throw one.reason
  }
  const stop = () => secrets.check(brokers).finally(close)
  // stops what was started if the start fails: otherwise the test process never ends
  const gatehouse = await start().catch(async (error: unknown) => {
    await close()
    throw error
  })

  return {
    sandbox,
    redis,
    gatehouse,
    collector,
    authnUrl,
    pamUrl: upstream.pamUrl,
    signInEnv: { ...signInEnv, PUBLIC_URL: gatehouse.url },
    pamEnv: upstream.pamEnv,
    replica: (extra) => start({ PUBLIC_URL: gatehouse.url, ...extra }),
    upstreamCalls: () => sandbox.requestLog.authn.entries,
    clearUpstreamCalls: () => sandbox.requestLog.authn.clear(),
    visit: () => visit(gatehouse, env?.TRUST_PROXY === undefined ? {} : FROM_PROXY),
    stop,
  }
}

/** The harness of a test file. The sandbox is reset before each test. */
export function useHarness(options: HarnessOptions = {}): Harness {
  return useFixture({
    start: () => startHarness(options),
    reset: ({ sandbox }) => sandbox.reset(),
    stop: (harness) => harness.stop(),
  })
}

/**
 * The stub upstream and one broker on the embedded store, for responses that the sandbox does not
 * give.
 */
export interface StubHarness {
  readonly stub: StubUpstream
  readonly gatehouse: Gatehouse
  /** A fresh browser that has asked for its session first, as a portal's page does. */
  visit(): Promise<Browser>
  stop(): Promise<void>
}

export interface StubHarnessOptions extends Partial<GatehouseOptions> {
  readonly answer?: StubListener
}

export async function startStubHarness({
  answer,
  env,
  ...rest
}: StubHarnessOptions = {}): Promise<StubHarness> {
  const stub = await startStubUpstream(answer)
  const gatehouse = await startGatehouse({ ...rest, env: { AUTHN_BASE_URL: stub.origin, ...env } })
  return {
    stub,
    gatehouse,
    async visit() {
      const browser = await visit(gatehouse)
      browser.allowAnyTransaction()
      return browser
    },
    async stop() {
      await gatehouse.stop()
      await stub.close()
    },
  }
}

/** The stub harness of a test file. The stub is reset before each test. */
export function useStubHarness(options: StubHarnessOptions = {}): StubHarness {
  return useFixture({
    start: () => startStubHarness(options),
    reset: ({ stub }) => stub.reset(),
    stop: (harness) => harness.stop(),
  })
}

async function visit({ url }: Gatehouse, proxyHeaders = {}): Promise<Browser> {
  const browser = openBrowser(url, proxyHeaders)
  await browser.get('/api/v1/sessions/me')
  return browser
}

/** The header that a trusted proxy must send. */
export const FROM_PROXY = { 'x-forwarded-for': '127.0.0.1' }

export const PASSWORD = 'Demo-Password-1'
export const AMELIA = 'amelia.stone@example.test'
export const TOMAS = 'tomas.berg@example.test'
export const PRIYA = 'priya.nair@example.test'
export const OLGA = 'olga.expired@example.test'
export const WALTER = 'walter.warn@example.test'
export const INES = 'ines.both@example.test'
