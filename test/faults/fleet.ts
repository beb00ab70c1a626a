import type { Sandbox } from 'gatehouse-sandbox/sandbox'
import type { SandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import { type BrokerProcess, makeBrokerDirectory } from '../support/broker-process.ts'
import { freePort, TEST_KEY } from '../support/gatehouse.ts'
import { startSandboxUpstream } from '../support/sandbox-upstream.ts'
import { until } from '../support/until.ts'

/** Broker processes with one Redis, and one sandbox that has many users. */
export interface Fleet {
  readonly sandbox: Sandbox
  readonly brokers: readonly BrokerProcess[]
  /** Starts a killed broker again on the same ports. */
  restart(broker: BrokerProcess): Promise<void>
  /** Whether each broker is ready. */
  areReady(): Promise<boolean[]>
  /** Waits until every broker is ready and can use Redis. */
  untilReady(): Promise<void>
  /** The first broker's heap, by its own metrics. */
  heapMb(): Promise<number>
  stop(): Promise<void>
}

export interface FleetOptions {
  readonly redisUrl: string
  readonly brokers?: number
  readonly env?: Record<string, string>
}

export const USER_PASSWORD = 'Demo-Password-1'
export const USER_ANSWER = 'lighthouse'
export const loginOf = (n: number) => `load-${n}@example.test`
export const USER_COUNT = 400

/** The tests act as a proxy on this host, which sends the client's address. */
const PROXY = '127.0.0.1/32'

export async function startFleet({ redisUrl, brokers: count = 2, env = {} }: FleetOptions): Promise<Fleet> {
  const upstream = await startSandboxUpstream({ sandboxConfig: withLoadUsers })
  const home = await makeBrokerDirectory()
  const publicUrl = `http://localhost:${await freePort()}`
  const environment = {
    PUBLIC_URL: publicUrl,
    TRUST_PROXY: PROXY,
    ...upstream.signInEnv,
    REDIS_URL: redisUrl,
    SECRET_KEYS: TEST_KEY,
    ...env,
  }
  const brokers: BrokerProcess[] = []
  const readiness = () =>
    Promise.all(
      brokers.map(({ opsUrl }) =>
        fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(20_000) }).then(
          async (answer) => (await answer.json()) as { ready: boolean; checks: { store: string } },
          () => ({ ready: false, checks: { store: 'no response' } }),
        ),
      ),
    )
  const untilReady = async () => {
    await until(
      async () => (await readiness()).every(({ ready, checks }) => ready && checks.store === 'ok'),
      { timeoutMs: 60_000, what: 'all brokers to be ready' },
    )
  }
  const stop = async () => {
    await home.remove()
    await upstream.close()
  }
  try {
    for (let n = 0; n < count; n++) brokers.push(await home.start(environment))
    await untilReady()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    sandbox: upstream.sandbox,
    brokers,
    areReady: async () => (await readiness()).map(({ ready }) => ready),
    untilReady,
    heapMb: () => readHeapMb(brokers[0]?.opsUrl ?? ''),
    stop,
    async restart(broker) {
      const { port } = new URL(broker.opsUrl)
      brokers[brokers.indexOf(broker)] = await home.start({
        ...environment,
        PORT: broker.port,
        OPS_PORT: port,
      })
    },
  }
}

/** Adds users whose second factor is a security question, because its answer is always the same. */
export function withLoadUsers(config: SandboxConfig): SandboxConfig {
  const model = config.users.find(({ login }) => login === 'quentin.query@example.test')
  if (model === undefined) throw new Error('the sandbox has no user with a security question')
  const added = Array.from({ length: USER_COUNT }, (_, n) => ({ ...model, login: loginOf(n) }))
  return { ...config, users: [...config.users, ...added] }
}

async function readHeapMb(opsUrl: string): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(metrics)?.[1]) / 1_048_576
}
