import { type BrokerProcess, makeBrokerDirectory } from '../support/broker-process.ts'
import { TEST_KEY } from '../support/gatehouse.ts'
import { PORTAL, type ProxyName } from '../support/proxies.ts'
import { type PortalRequest, type PortalResponse, type RunningProxy, startProxy } from '../support/proxy.ts'
import { freePort } from '../support/redis-process.ts'
import { startSandboxUpstream } from '../support/sandbox-upstream.ts'

/** Two replicas behind a proxy with its example from `deploy/proxies/`. */
export interface ProxiedReplicas {
  readonly proxy: RunningProxy
  /** The running process of each replica. */
  readonly running: readonly BrokerProcess[]
  /** Stops a replica. Resolves when its process has ended, with exit code 0. */
  stopReplica(at: 0 | 1): Promise<void>
  /** Starts a replica that was stopped. Resolves when it is ready. */
  startReplica(at: 0 | 1, env?: Readonly<Record<string, string>>): Promise<void>
  stop(): Promise<void>
}

export interface ProxiedReplicasOptions {
  readonly proxy: ProxyName
  readonly redisUrl: string
  /** Default: a free port, since no request reaches an application. */
  readonly applicationPort?: number
}

/** The replicas are on two hosts, as Caddy's example has one operations port for all of them. */
const HOSTS = ['127.0.0.11', '127.0.0.12'] as const

export async function startProxiedReplicas({
  proxy: name,
  redisUrl,
  applicationPort,
}: ProxiedReplicasOptions): Promise<ProxiedReplicas> {
  const upstream = await startSandboxUpstream()
  const home = await makeBrokerDirectory()
  const [port, opsPort] = [await freePort(), await freePort()]
  const start = (host: string, env: Readonly<Record<string, string>> = {}) =>
    home.start({
      PUBLIC_URL: PORTAL,
      HOST: host,
      PORT: String(port),
      OPS_HOST: host,
      OPS_PORT: String(opsPort),
      TRUST_PROXY: '127.0.0.1/32',
      ...upstream.signInEnv,
      ...upstream.pamEnv,
      REDIS_URL: redisUrl,
      SECRET_KEYS: TEST_KEY,
      ...env,
    })
  const stopUpstream = async () => {
    await home.remove()
    await upstream.close()
  }
  try {
    const running = await Promise.all(HOSTS.map((host) => start(host)))
    const proxy = await startProxy(name, {
      gatehouse: [`${HOSTS[0]}:${port}`, `${HOSTS[1]}:${port}`],
      opsPort,
      applicationPort: applicationPort ?? (await freePort()),
    })
    return {
      proxy,
      running,
      async stopReplica(at) {
        running[at]?.child.kill('SIGTERM')
        const code = await running[at]?.exited
        if (code !== 0) throw new Error(`the replica ended with ${code}: ${running[at]?.output.err}`)
      },
      async startReplica(at, env) {
        running[at] = await start(HOSTS[at], env) // listens: it is ready
      },
      async stop() {
        await proxy.stop()
        await stopUpstream()
      },
    }
  } catch (error) {
    await stopUpstream()
    throw error
  }
}

/** A request, and what it gets while nothing fails. */
export interface LoadRequest {
  readonly request: PortalRequest
  readonly status: number
}

export interface Load {
  /** What other responses there were since the last call, such as `2.1 s: /app/ 502`. */
  failures(): string[]
  stop(): Promise<void>
}

/** Sends the requests in turn, evenly. */
export function startLoad(
  ask: (request: PortalRequest) => Promise<PortalResponse>,
  requests: readonly LoadRequest[],
  perSecond: number,
): Load {
  const startedAt = performance.now()
  const failures: string[] = []
  const pending = new Set<Promise<void>>()
  let sent = 0
  const send = async () => {
    const { request = {}, status } = requests[sent++ % requests.length] ?? {}
    const at = ((performance.now() - startedAt) / 1000).toFixed(1)
    const got = await ask(request).then(
      (answer) => answer.status,
      (error: Error) => error.message,
    )
    if (got !== status) failures.push(`${at} s: ${request.path} ${got}`)
  }
  const timer = setInterval(() => {
    const one = send().finally(() => pending.delete(one))
    pending.add(one)
  }, 1000 / perSecond)
  return {
    failures: () => failures.splice(0),
    async stop() {
      clearInterval(timer)
      await Promise.all(pending)
    },
  }
}
