import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import { PROXIES, type ProxyName } from '../support/proxies.ts'
import { type RunningProxy, startProxy } from '../support/proxy.ts'
import { freePort } from '../support/redis-process.ts'
import { openSwallowingPort } from '../support/swallowing-port.ts'
import { until } from '../support/until.ts'

/**
 * The examples of `deploy/proxies/` and `deploy/compose/nginx.conf` with two replicas, one of which
 * fails.
 */

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

const PATH = '/api/v1/sessions/me'
/** More requests than replicas, so that each is tried. */
const REQUESTS = 6
/**
 * In each example. A request that is sent to the swallowing replica waits at least this long, on
 * any machine.
 */
const CONNECT_TIMEOUT_MS = 1000

interface Replica {
  readonly address: string
  readonly port: number
  /** The methods of the requests, oldest first. */
  readonly received: (string | undefined)[]
}

/**
 * Answers 200, on the operations listener too, and resets the connection of a request whose path
 * contains `cut`.
 */
async function replica(): Promise<Replica> {
  const received: (string | undefined)[] = []
  const server = createServer({ keepAliveTimeout: 600_000 }, (req, res) => {
    if (req.url !== '/readyz') received.push(req.method)
    if (req.url?.includes('cut')) req.socket.resetAndDestroy()
    else res.end('answered')
  })
  await listening(server)
  cleanUps.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // listening on TCP
  return { address: `127.0.0.1:${port}`, port, received }
}

const listening = (server: Server) =>
  new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })

/** `ops` is the first replica's own port: no other address has an operations listener on it. */
async function behind(name: ProxyName, { address, port }: Replica, other: { readonly address: string }) {
  const ports = { gatehouse: [address, other.address], opsPort: port, applicationPort: port } as const
  const proxy = await startProxy(name, ports)
  cleanUps.push(() => proxy.stop())
  return proxy
}

async function timed(proxy: RunningProxy) {
  const startedAt = performance.now()
  const { status } = await proxy.ask({ path: PATH })
  return { status, ms: performance.now() - startedAt }
}

const NAMES: readonly ProxyName[] = ['nginx', 'nginx in Compose', 'Caddy', 'HAProxy', 'Apache']

describe.each(NAMES)('%s', (name) => {
  test('a replica that swallows packets costs the first requests about a second, and the later ones nothing', async () => {
    const good = await replica()
    const swallowing = await openSwallowingPort()
    cleanUps.push(swallowing.close)
    const proxy = await behind(name, good, swallowing)
    const early = await Promise.all(Array.from({ length: REQUESTS }, () => timed(proxy)))
    const later: Awaited<ReturnType<typeof timed>>[] = []
    const noneWaits = async () => {
      for (let n = 0; n < REQUESTS; n++) later.push(await timed(proxy))
      return later.slice(-REQUESTS).every(({ ms }) => ms < CONNECT_TIMEOUT_MS)
    }
    await until(noneWaits, { what: 'requests of which none waits' }) // else every second one does
    for (const { status } of [...early, ...later]) expect(status).toBe(200)
    expect(Math.max(...early.map(({ ms }) => ms))).toBeLessThan(2500)
  })

  if (PROXIES[name].asksWhoIsSignedIn)
    test('while a replica is down, the other one is asked who is signed in', async () => {
      const proxy = await behind(name, await replica(), { address: `127.0.0.1:${await freePort()}` })
      const path = PROXIES[name].applicationPath
      for (let n = 0; n < 4 * REQUESTS; n++) expect((await proxy.ask({ path })).status).toBe(200)
    })

  test('a client whose requests make replicas close connections puts none out of service, and a POST is sent once', async () => {
    const replicas = [await replica(), await replica()] as const
    const proxy = await behind(name, ...replicas)
    for (const { received } of replicas) received.length = 0
    const cut = () => proxy.ask({ method: 'POST', path: '/api/v1/authn?cut', body: '{}' })
    for (let n = 0; n < REQUESTS; n++) expect([502, 503]).toContain((await cut()).status)
    expect(replicas.flatMap(({ received }) => received)).toEqual(Array(REQUESTS).fill('POST'))
    for (let n = 0; n < 4 * REQUESTS; n++) expect((await proxy.ask({ path: PATH })).status).toBe(200)
    for (const { received } of replicas) expect(received).toContain('GET')
  })
})
