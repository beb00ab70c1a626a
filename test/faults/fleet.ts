import { readFileSync } from 'node:fs'
import type { Tunables } from '../../src/config/tunables.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { SandboxConfig } from '../../src/sandbox/sandbox-config.ts'
import { type BrokerProcess, makeBrokerDirectory } from '../support/broker-process.ts'
import { freePort, TEST_KEY } from '../support/gatehouse.ts'
import { startSandboxUpstream } from '../support/sandbox-upstream.ts'
import { until } from '../support/until.ts'

/** Broker processes as they are run, over one Redis and one sandbox that knows a crowd of people. */
export interface Fleet {
  readonly sandbox: Sandbox
  readonly brokers: readonly BrokerProcess[]
  /** One that was killed comes back at its own ports. */
  restart(broker: BrokerProcess): Promise<void>
  /** Answers of every broker's `/readyz`. */
  readiness(): Promise<number[]>
  untilReady(): Promise<void>
  /** Resident memory of every broker process, as the system (Linux) has it. */
  residentMb(): number[]
  /** What the first broker holds, by its own metrics: in its heap, and in buffers outside of it. */
  held(): Promise<{ readonly heapMb: number; readonly outsideMb: number }>
  stop(): Promise<void>
}

export interface FleetOptions {
  readonly redisUrl: string
  readonly brokers?: number
  readonly env?: Record<string, string>
  readonly tunables?: (tunables: Tunables) => Tunables
}

export const CROWD_PASSWORD = 'Demo-Password-1'
export const CROWD_ANSWER = 'lighthouse'
export const crowdLogin = (n: number) => `crowd-${n}@example.test`
export const CROWD = 400

/** Who is in front of the brokers: a proxy on this host, which names the client's address. */
const PROXY = '127.0.0.1/32'

export async function startFleet({
  redisUrl,
  brokers: count = 2,
  env = {},
  tunables,
}: FleetOptions): Promise<Fleet> {
  const upstream = await startSandboxUpstream({ sandboxConfig: withCrowd })
  const home = await makeBrokerDirectory(tunables)
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
          ({ status }) => status,
          () => 0, // not there
        ),
      ),
    )
  const untilReady = async () => {
    await until(async () => (await readiness()).every((status) => status === 200), {
      timeoutMs: 60_000,
      what: 'brokers that are all ready',
    })
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
    readiness,
    untilReady,
    residentMb: () => brokers.map(({ child }) => residentMb(child.pid)),
    held: () => held(brokers[0]?.opsUrl ?? ''),
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

/** Many people who are asked a question whose answer does not change from one sign-in to the next. */
function withCrowd(config: SandboxConfig): SandboxConfig {
  const model = config.users.find(({ login }) => login === 'quentin.query@example.test')
  if (model === undefined) throw new Error('the sandbox has nobody who is asked a question')
  const crowd = Array.from({ length: CROWD }, (_, n) => ({ ...model, login: crowdLogin(n) }))
  return { ...config, users: [...config.users, ...crowd] }
}

async function held(opsUrl: string): Promise<{ heapMb: number; outsideMb: number }> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  const mb = (name: string) =>
    Number(new RegExp(`^nodejs_${name}_bytes (\\S+)$`, 'm').exec(metrics)?.[1]) / 1_048_576
  return { heapMb: mb('heap_size_used'), outsideMb: mb('external_memory') }
}

function residentMb(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}
