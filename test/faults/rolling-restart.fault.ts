import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import { type BrokerProcess, makeBrokerDirectory } from '../support/broker-process.ts'
import { TEST_KEY } from '../support/gatehouse.ts'
import { PORTAL, PROXIES, type ProxyName } from '../support/proxies.ts'
import { type PortalRequest, type RunningProxy, startProxy } from '../support/proxy.ts'
import { freePort } from '../support/redis-process.ts'
import { startRedis } from '../support/redis-server.ts'
import { startSandboxUpstream } from '../support/sandbox-upstream.ts'

/**
 * A rolling restart as docs/operations.md describes it, and as fast as it allows: a replica stops
 * as soon as the one before is ready. Under load, no request fails behind any of the proxies.
 */

const REQUESTS_PER_SECOND = 15
/** Each restarts both replicas. What happens at the end of a replica is not always the same. */
const ROLLS = 2

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

test.each(Object.keys(PROXIES) as ProxyName[])('%s: replicas restart one after the other', async (name) => {
  const { addresses, opsPort, restart } = await startReplicas()
  const proxy = await startProxy(name, {
    gatehouse: addresses,
    opsPort,
    applicationPort: await freePort(), // no request reaches the application
  })
  closers.push(() => proxy.stop())
  const load = startLoad(proxy, PROXIES[name].asksWhoIsSignedIn ? [...CALLS, NAVIGATION] : CALLS)
  await pause(1000)
  for (let roll = 0; roll < ROLLS; roll++) {
    await restart(0)
    await restart(1)
  }
  await pause(2000)
  const { failures, statuses } = await load.stop()
  expect(failures).toEqual([])
  expect(statuses).toEqual(new Set([401, 404]))
})

/** Two replicas on two hosts, because Caddy's example has one operations port for all of them. */
async function startReplicas() {
  const redis = await startRedis()
  closers.push(() => redis.stop())
  const upstream = await startSandboxUpstream()
  closers.push(() => upstream.close())
  const home = await makeBrokerDirectory()
  closers.push(() => home.remove())
  const [port, opsPort] = [await freePort(), await freePort()]
  const start = (host: string) =>
    home.start({
      PUBLIC_URL: PORTAL,
      HOST: host,
      PORT: String(port),
      OPS_HOST: host,
      OPS_PORT: String(opsPort),
      TRUST_PROXY: '127.0.0.1/32',
      ...upstream.signInEnv,
      ...upstream.pamEnv,
      REDIS_URL: redis.url,
      SECRET_KEYS: TEST_KEY,
    })
  const hosts = ['127.0.0.11', '127.0.0.12'] as const
  const running: BrokerProcess[] = await Promise.all(hosts.map(start))
  return {
    addresses: [`${hosts[0]}:${port}`, `${hosts[1]}:${port}`] as const,
    opsPort,
    /** Resolves when the new process is ready. */
    async restart(at: 0 | 1) {
      running[at]?.child.kill('SIGTERM')
      expect(await running[at]?.exited).toBe(0)
      running[at] = await start(hosts[at]) // listens: it is ready
    },
  }
}

const ORIGIN = ['Origin', PORTAL, 'Content-Type', 'application/json']
const UNKNOWN = JSON.stringify({ stateToken: `00${'x'.repeat(41)}` })
/** None counts against a limit. */
const CALLS: readonly PortalRequest[] = [
  { path: '/api/v1/sessions/me' },
  { path: '/api/v1/authn', method: 'POST', headers: ORIGIN, body: UNKNOWN },
]
const NAVIGATION: PortalRequest = { path: '/app/' }

function startLoad(proxy: RunningProxy, requests: readonly PortalRequest[]) {
  const startedAt = performance.now()
  const statuses = new Set<number>()
  const failures: string[] = []
  const pending = new Set<Promise<void>>()
  let sent = 0
  const send = async () => {
    const request = requests[sent++ % requests.length] ?? {}
    const at = ((performance.now() - startedAt) / 1000).toFixed(1)
    const answer = await proxy.ask(request).catch((error: Error) => error.message)
    if (typeof answer === 'string') failures.push(`${at} s: ${request.path} ${answer}`)
    else if (answer.status >= 500) failures.push(`${at} s: ${request.path} ${answer.status}`)
    else statuses.add(answer.status)
  }
  const timer = setInterval(() => {
    const one = send().finally(() => pending.delete(one))
    pending.add(one)
  }, 1000 / REQUESTS_PER_SECOND)
  const stop = async () => {
    clearInterval(timer)
    await Promise.all(pending)
    return { statuses, failures }
  }
  closers.push(stop)
  return { stop }
}
