import { parsePamConfig } from '../../src/sandbox/pam/pam-config.ts'
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts'
import { defaultConfigPath, loadSandboxConfig, type SandboxConfig } from '../../src/sandbox/sandbox-config.ts'
import { type Browser, openBrowser } from './browser.ts'
import { type Gatehouse, type GatehouseOptions, startGatehouse } from './gatehouse.ts'
import { watchHouseSecrets } from './house-secrets.ts'
import { type RedisServer, type RedisServerOptions, startRedis } from './redis-server.ts'

/** Sandbox, real Redis and one broker or more in front of them: what the journeys drive. */
export interface House {
  readonly sandbox: Sandbox
  readonly redis: RedisServer
  readonly gatehouse: Gatehouse
  /** Where the sandbox's sign-in API listens. */
  readonly authnUrl: string
  readonly pamUrl: string
  /** A fresh browser that has asked for its session first, as a portal's page does. */
  visit(): Promise<Browser>
  /** Another replica on the same Redis and upstream. */
  replica(env?: Record<string, string>): Promise<Gatehouse>
  /** What arrived at the sign-in API since the last `forget()`. */
  upstreamCalls(): Sandbox['calls']['authn']['entries']
  forget(): void
  /** Throws when a secret was left behind anywhere (house-secrets.ts), or an audit line broke its schema. */
  stop(): Promise<void>
}

export interface HouseOptions extends Partial<GatehouseOptions> {
  readonly sandboxConfig?: (config: SandboxConfig) => SandboxConfig
  readonly sandboxNow?: () => number
  readonly redis?: RedisServerOptions
}

export async function startHouse(options: HouseOptions = {}): Promise<House> {
  const { sandboxConfig = (same) => same, sandboxNow, env, redis: redisOptions, ...rest } = options
  const config = sandboxConfig(loadSandboxConfig(defaultConfigPath))
  const sandbox = createSandbox({ config, ...(sandboxNow === undefined ? {} : { now: sandboxNow }) })
  const upstreams = await sandbox.listen()
  const redis = await startRedis(redisOptions)
  const { team, keys } = parsePamConfig(config.pam)
  const secrets = await watchHouseSecrets({
    sandbox,
    redis,
    authnUrl: upstreams.authnUrl,
    keys: keys.flatMap(({ keyId, keySecret }) => [keyId, keySecret]),
  })
  const brokers: Gatehouse[] = []

  const start = async (extra: Record<string, string> = {}) => {
    const broker = await startGatehouse({
      ...rest,
      env: {
        AUTHN_BASE_URL: upstreams.authnUrl,
        AUTHN_API_TOKEN: sandbox.apiToken,
        PAM_BASE_URL: upstreams.pamUrl,
        PAM_TEAM: team,
        PAM_KEY_ID: keys[0]?.keyId ?? '',
        PAM_KEY_SECRET: keys[0]?.keySecret ?? '',
        PAM_DIRECTORY: 'all',
        REDIS_URL: redis.url,
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
    await upstreams.close()
    await redis.stop()
    for (const one of stopped) if (one.status === 'rejected') throw one.reason
  }
  const stop = () => secrets.check(brokers).finally(close)
  // what was started must not outlive a start that fails: the test's process would never end
  const gatehouse = await start().catch(async (error: unknown) => {
    await close()
    throw error
  })

  return {
    sandbox,
    redis,
    gatehouse,
    authnUrl: upstreams.authnUrl,
    pamUrl: upstreams.pamUrl,
    replica: (extra) => start({ PUBLIC_URL: gatehouse.url, ...extra }),
    upstreamCalls: () => sandbox.calls.authn.entries,
    forget: () => sandbox.calls.authn.clear(),
    async visit() {
      const browser = openBrowser(gatehouse.url, env?.TRUST_PROXY === undefined ? {} : FROM_PROXY)
      await browser.get('/api/v1/sessions/me')
      return browser
    },
    stop,
  }
}

/** What a trusted proxy must send: the client is on this machine too. */
export const FROM_PROXY = { 'x-forwarded-for': '127.0.0.1' }

export const PASSWORD = 'Demo-Password-1'
export const AMELIA = 'amelia.stone@example.test'
export const TOMAS = 'tomas.berg@example.test'
export const PRIYA = 'priya.nair@example.test'
export const OLGA = 'olga.expired@example.test'
export const WALTER = 'walter.warn@example.test'
export const INES = 'ines.both@example.test'
