import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { trusting } from '../../src/upstream/connection-pool.ts'
import type { HttpApiOptions } from '../../src/upstream/http-api.ts'
import { mayHaveReachedUpstream } from '../../src/upstream/upstream-failure.ts'
import { keeper } from '../support/keeper.ts'
import { type Certificates, makeCertificates } from '../support/redis-certificates.ts'
import { deadPort, listenAnywhere, sendJson, startStubUpstream } from '../support/stub-upstream.ts'
import { clientFor, failureOf } from './client-for.ts'

let certificates: Certificates
beforeAll(() => {
  certificates = makeCertificates()
})
afterAll(() => certificates.remove())
const trusted = () => trusting([certificates.ca])

const { keep, closeAll } = keeper()
afterEach(closeAll)

const GET = {
  method: 'GET',
  path: '/very-secret-path',
  headers: { Authorization: 'SSWS very-secret' },
} as const

const client = (baseUrl: string, options: Partial<HttpApiOptions> = {}) => keep(clientFor(baseUrl, options))

async function secureUpstream() {
  let arrived = 0
  const server = createHttpsServer(
    { cert: readFileSync(certificates.certFile), key: readFileSync(certificates.keyFile) },
    (_req, res) => {
      arrived += 1
      res.writeHead(200, { 'Content-Type': 'application/json' }).end('{"secure":true}')
    },
  )
  const port = await listenAnywhere(server)
  keep({ close: () => closeAtOnce(server) })
  return { port, arrived: () => arrived }
}

function closeAtOnce(server: Server) {
  server.closeAllConnections()
  server.close()
}

/** An egress proxy; `targets` are the requested hosts, `plain` the requests without a tunnel. */
async function proxy({ refusesWith }: { refusesWith?: string } = {}) {
  const targets: string[] = []
  const plain: string[] = []
  const credentials: (string | undefined)[] = []
  const sockets = new Set<Socket>()
  const server = createHttpServer((req, res) => {
    plain.push(req.url ?? '')
    res.writeHead(200, { 'Content-Type': 'application/json' }).end('{"by":"proxy"}')
  })
  server.on('connect', (req, near: Socket) => {
    targets.push(req.url ?? '')
    credentials.push(req.headers['proxy-authorization'])
    sockets.add(near)
    near.on('error', () => undefined)
    if (refusesWith !== undefined) {
      near.end(`HTTP/1.1 ${refusesWith}\r\n\r\n`)
      return
    }
    const far = connect(Number(req.url?.split(':').at(-1)), '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      far.pipe(near).pipe(far)
    })
    sockets.add(far)
    far.on('error', () => near.destroy())
  })
  const port = await listenAnywhere(server)
  keep({
    close() {
      for (const socket of sockets) socket.destroy()
      closeAtOnce(server)
    },
  })
  return { port, url: `http://127.0.0.1:${port}/`, targets, plain, credentials }
}

describe('private certificate authorities', () => {
  // shows: V12.3.2
  test('a certificate of an unknown authority is refused, and nothing is sent', async () => {
    const upstream = await secureUpstream()
    const failure = await failureOf(client(`https://localhost:${upstream.port}`).send(GET))
    expect(failure.outcome).toBe('unreachable')
    expect(failure.message).not.toMatch(/localhost|secret/)
    expect(upstream.arrived()).toBe(0)
  })

  // shows: V12.3.4
  test('the configured authority is trusted in addition to the public ones', async () => {
    const upstream = await secureUpstream()
    const answer = await client(`https://localhost:${upstream.port}`, { secureContext: trusted() }).send(GET)
    expect(answer.json).toEqual({ secure: true })
  })

  // shows: V12.3.2
  test('a certificate for another name is refused, even of a trusted authority', async () => {
    const upstream = await secureUpstream()
    const other = client(`https://127.0.0.2:${upstream.port}`, { secureContext: trusted() })
    expect((await failureOf(other.send(GET))).outcome).toBe('unreachable')
    expect(upstream.arrived()).toBe(0)
  })
})

describe('an egress proxy', () => {
  test('tunnels https, and the private authority is trusted through the tunnel', async () => {
    const upstream = await secureUpstream()
    const egress = await proxy()
    const through = client(`https://localhost:${upstream.port}`, {
      secureContext: trusted(),
      httpsProxy: egress.url,
    })
    expect((await through.send(GET)).json).toEqual({ secure: true })
    expect(egress.targets).toEqual([`localhost:${upstream.port}`])
    expect(egress.plain).toEqual([])
  })

  test('gets its own credentials and never those for the upstream', async () => {
    const upstream = await secureUpstream()
    const egress = await proxy()
    const through = client(`https://localhost:${upstream.port}`, {
      secureContext: trusted(),
      httpsProxy: `http://user:word@127.0.0.1:${egress.port}/`,
    })
    await through.send(GET)
    expect(egress.credentials).toEqual([`Basic ${Buffer.from('user:word').toString('base64')}`])
  })

  test('that refuses or is unreachable causes a failure without its address', async () => {
    const upstream = await secureUpstream()
    const refusing = await proxy({ refusesWith: '403 Forbidden' })
    for (const httpsProxy of [refusing.url, `http://127.0.0.1:${await deadPort()}/`]) {
      const failure = await failureOf(
        client(`https://localhost:${upstream.port}`, { secureContext: trusted(), httpsProxy }).send(GET),
      )
      expect(failure.message).not.toMatch(/127\.0\.0\.1|localhost|secret/)
    }
    expect(upstream.arrived()).toBe(0)
  })

  test.each([
    ['403 Forbidden', 'PROXY_403'],
    ['407 Proxy Authentication Required', 'PROXY_407'],
    ['502 Bad Gateway', 'PROXY_502'],
  ])('its refusal (%s) is named as its own, and the request did not arrive', async (refusesWith, code) => {
    const upstream = await secureUpstream()
    const egress = await proxy({ refusesWith })
    const through = client(`https://localhost:${upstream.port}`, {
      secureContext: trusted(),
      httpsProxy: egress.url,
    })
    const failure = await failureOf(through.send(GET))
    expect([failure.outcome, failure.code]).toEqual(['proxy_refused', code])
    expect(mayHaveReachedUpstream(failure)).toBe(false)
    expect(upstream.arrived()).toBe(0)
  })

  // shows: V12.3.1
  test('never gets plain http, which is sent to the local host only', async () => {
    const stub = keep(await startStubUpstream((_req, res) => sendJson(res, 200, { by: 'upstream' })))
    const egress = await proxy()
    expect((await client(stub.origin, { httpsProxy: egress.url }).send(GET)).json).toEqual({ by: 'upstream' })
    expect([egress.targets, egress.plain]).toEqual([[], []])
  })

  test.each(['127.0.0.0/8', '127.0.0.1', '10.0.0.0/8,127.0.0.1/32'])(
    'is not used for a literal address in a range of NO_PROXY (%s)',
    async (noProxy) => {
      const upstream = await secureUpstream()
      const egress = await proxy()
      const straight = client(`https://127.0.0.1:${upstream.port}`, {
        secureContext: trusted(),
        httpsProxy: egress.url,
        noProxy: noProxy.split(','),
      })
      expect((await straight.send(GET)).json).toEqual({ secure: true })
      expect(egress.targets).toEqual([])
    },
  )

  test('is used for a literal address outside the ranges, and for a name, which is not resolved', async () => {
    const upstream = await secureUpstream()
    const egress = await proxy()
    const hosts = [`127.0.0.1:${upstream.port}`, `localhost:${upstream.port}`]
    const ranges = [['10.0.0.0/8', '::1/128'], ['127.0.0.0/8']]
    for (const [index, host] of hosts.entries()) {
      const through = client(`https://${host}`, {
        secureContext: trusted(),
        httpsProxy: egress.url,
        noProxy: ranges[index] ?? [],
      })
      expect((await through.send(GET)).json).toEqual({ secure: true })
    }
    expect(egress.targets).toEqual(hosts)
  })

  test.each([[['LOCALHOST']], [['.example.com', 'localhost']], [['*']]])(
    'is not used for a host in NO_PROXY (%j)',
    async (noProxy) => {
      const upstream = await secureUpstream()
      const egress = await proxy()
      const straight = client(`https://localhost:${upstream.port}`, {
        secureContext: trusted(),
        httpsProxy: egress.url,
        noProxy,
      })
      expect((await straight.send(GET)).json).toEqual({ secure: true })
      expect(egress.targets).toEqual([])
    },
  )
})
