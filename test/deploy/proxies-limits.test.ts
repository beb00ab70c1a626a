import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import { afterEach, describe, expect, test } from '@jest/globals'
import { PORTAL_HOST, type ProxyName } from '../support/proxies.ts'
import { type RunningProxy, startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'

/** What docs/operations.md expects of a proxy, in the examples as they are. */

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

const PATH = '/api/v1/authn'

/** A replica that answers requests of PATH only when it is told to. */
async function holdingReplica() {
  const held: { readonly url: string | undefined; readonly res: ServerResponse }[] = []
  let isHolding = true
  const server = createServer({ keepAliveTimeout: 600_000, maxHeaderSize: 65_536 }, (req, res) => {
    if (!isHolding || !req.url?.startsWith(PATH)) return void res.end('answered')
    held.push({ url: req.url, res })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUps.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port, // listening on TCP
    held,
    release() {
      isHolding = false
      for (const { res } of held) res.end('answered')
    },
  }
}

async function behind(name: ProxyName, { port }: { readonly port: number }): Promise<RunningProxy> {
  const address = `127.0.0.1:${port}`
  const proxy = await startProxy(name, {
    gatehouse: [address, address],
    opsPort: port,
    applicationPort: port,
  })
  cleanUps.push(() => proxy.stop())
  return proxy
}

describe.each<ProxyName>(['nginx', 'nginx in Compose', 'HAProxy', 'Apache'])('%s', (name) => {
  test('a request whose body comes slowly reaches the broker only when it is complete', async () => {
    const replica = await holdingReplica()
    const proxy = await behind(name, replica)
    const slow = connect({ port: proxy.port, rejectUnauthorized: false, servername: PORTAL_HOST })
    cleanUps.push(() => slow.destroy())
    await once(slow, 'secureConnect')
    slow.write(`POST ${PATH}?slow HTTP/1.1\r\nHost: ${PORTAL_HOST}\r\nContent-Length: 4\r\n\r\nhal`)
    // a later request that is complete arrives before it
    const whole = proxy.ask({ method: 'POST', path: PATH, body: 'half' })
    await until(() => replica.held.some(({ url }) => url === PATH))
    expect(replica.held.map(({ url }) => url)).toEqual([PATH])
    replica.release()
    expect((await whole).status).toBe(200)
    slow.write('f')
    const [answer] = await once(slow, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe.each<ProxyName>(['nginx', 'nginx in Compose', 'HAProxy'])('%s', (name) => {
  test('one client address has at most 100 requests in flight; another address is not affected', async () => {
    const replica = await holdingReplica()
    const proxy = await behind(name, replica)
    let answered = 0
    const asked = Array.from({ length: 110 }, async () => {
      const { status } = await proxy.ask({ path: PATH, from: '127.0.0.2' })
      answered++
      return status
    })
    await until(() => answered === 10 && replica.held.length === 100)
    // after a 429, a browser forgets the key of its session: a neighbour would sign it out
    const renewal = { method: 'POST', path: '/bound-session/refresh', from: '127.0.0.2' }
    expect((await proxy.ask(renewal)).status).toBe(503)
    const other = proxy.ask({ path: PATH, from: '127.0.0.3' })
    await until(() => replica.held.length === 101)
    replica.release()
    expect((await other).status).toBe(200)
    const statuses = await Promise.all(asked)
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
    expect(statuses.filter((status) => status === 200)).toHaveLength(100)
  })
})

describe.each<ProxyName>(['nginx', 'nginx in Compose', 'Caddy', 'HAProxy', 'Apache'])('%s', (name) => {
  test('headers of 15 kB pass, as in the broker; many times more do not reach it', async () => {
    const replica = await holdingReplica()
    const proxy = await behind(name, replica)
    replica.release()
    const withCookie = (bytes: number) =>
      proxy.ask({ path: PATH, headers: ['Cookie', `a=${'x'.repeat(bytes)}`] }).then(
        ({ status }) => status,
        () => 0, // the proxy closed the connection while the headers were sent
      )
    expect(await withCookie(15_000)).toBe(200)
    expect([0, 400, 413, 431]).toContain(await withCookie(100_000))
  })
})
