import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { type Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { PORTAL_HOST, PROXIES, type ProxyName } from './proxies.ts'
import { type Certificates, makeCertificates } from './redis-certificates.ts'
import {
  freePort,
  makeDirectory,
  type RedisProcess,
  removeDirectory,
  SEARCH_PATH,
  startProcess,
} from './redis-process.ts'
import { until } from './until.ts'

export interface RunningProxy {
  readonly port: number
  /** The proxy's error log so far. */
  log(): string
  ask(ask?: PortalRequest): Promise<PortalResponse>
  stop(): Promise<void>
}

export interface PortalRequest {
  readonly method?: string
  readonly path?: string
  /** Default: the portal's. */
  readonly host?: string
  /** Alternating names and values, sent with this spelling and this often. */
  readonly headers?: readonly string[]
  readonly body?: string
  /** Trailers as alternating names and values. The body is then sent without a length. */
  readonly trailers?: readonly string[]
  /**
   * Sends HTTP/2, negotiated or with prior knowledge. The status is 0 if the proxy does not support
   * it.
   */
  readonly http2?: 'agreed' | 'unasked'
  /** The client's address, in 127.0.0.0/8. */
  readonly from?: string
  /** Keeps connections open and shares them among requests with the same agent. */
  readonly agent?: Agent
}

export interface PortalResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Upstreams {
  readonly gatehouse: readonly [string, string]
  readonly opsPort: number
  readonly applicationPort: number
  readonly calendarPort?: number | undefined
}

export const SIGN_IN_PAGE = 'the sign-in page'

/**
 * Starts a real proxy with its example from `deploy/proxies/`: one process, on a free port, in its
 * own directory.
 */
export async function startProxy(name: ProxyName, upstreams: Upstreams): Promise<RunningProxy> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(await freePort(), name, upstreams)
    } catch (error) {
      // another test has taken the port: try the next one
      if (attempt === 5 || !(error instanceof Error && /in use|cannot bind/i.test(error.message))) throw error
    }
  }
}

async function startOn(port: number, name: ProxyName, upstreams: Upstreams): Promise<RunningProxy> {
  const certificates = makeCertificates()
  const directory = makeDirectory()
  chmodSync(directory, 0o755) // a proxy started as root drops its privileges
  writeFileSync(join(directory, 'index.html'), SIGN_IN_PAGE)
  const pages = await servePages()
  const { programs, prepare } = PROXIES[name]
  const pagesPort = (pages.address() as AddressInfo).port // listening on TCP
  const args = prepare({
    port,
    pagesPort,
    directory,
    certificates,
    localPorts: await otherPorts(port),
    ...upstreams,
  })
  const running = startProcess(args, directory, installed(programs))
  const stop = async () => {
    await running.end()
    pages.closeAllConnections()
    await new Promise((resolve) => pages.close(resolve))
    removeDirectory(directory)
    certificates.remove()
  }
  const ask = (given: PortalRequest = {}) =>
    given.http2 === undefined
      ? askPortal(port, certificates, given)
      : askByHttp2(port, certificates, given.http2, given)
  try {
    await untilAnswering(name, running, ask)
  } catch (error) {
    await stop()
    throw error
  }
  return { port, log: () => running.log(), ask, stop }
}

/** Three free ports, all different, and none of them this one. */
async function otherPorts(port: number): Promise<[number, number, number]> {
  const [first, second, third] = [await freePort(), await freePort(), await freePort()]
  const isDistinct = new Set([port, first, second, third]).size === 4
  return isDistinct ? [first, second, third] : otherPorts(port)
}

async function servePages(): Promise<Server> {
  const server = createServer({ keepAliveTimeout: 600_000 }, (_req, res) => res.end(SIGN_IN_PAGE))
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return server
}

/** The first installed program of these names, else the first name, for the error message. */
function installed([first = '', ...others]: readonly string[]): string {
  const isThere = (program: string) =>
    SEARCH_PATH.split(delimiter).some((directory) => existsSync(join(directory, program)))
  return [first, ...others].find(isThere) ?? first
}

/**
 * The certificate is from the test's own authority, so a server of another test on the same port is
 * not mistaken for this one.
 */
async function untilAnswering(
  name: string,
  running: RedisProcess,
  ask: () => Promise<PortalResponse>,
): Promise<void> {
  const isUp = () =>
    ask().then(
      () => true,
      () => false,
    )
  await until(async () => running.hasEnded() || (await isUp()), { what: name })
  if (running.hasEnded()) throw new Error(`${name} did not start: ${running.log()}`)
}

function askPortal(port: number, { ca }: Certificates, given: PortalRequest): Promise<PortalResponse> {
  const { method = 'GET', path = '/', host = PORTAL_HOST, headers = [], body, trailers, from, agent } = given
  return new Promise((resolve, reject) => {
    const req = request(
      {
        host: '127.0.0.1',
        port,
        ca,
        // the certificate is for localhost, not for the portal's name
        checkServerIdentity: () => undefined,
        servername: host,
        method,
        path,
        headers: ['Host', host, ...lengthOf(body, trailers), ...headers],
        agent: agent ?? false,
        ...(from === undefined ? {} : { localAddress: from }),
      },
      (res) => {
        const chunks: Buffer[] = []
        res.on('data', (chunk: Buffer) => chunks.push(chunk))
        res.on('error', reject)
        res.on('end', () =>
          resolve({
            status: res.statusCode ?? 0,
            headers: res.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    req.on('upgrade', ({ headers: received }, socket) => {
      socket.destroy()
      resolve({ status: 101, headers: received, text: '' })
    })
    req.on('error', reject)
    if (trailers !== undefined) req.addTrailers(pairs(trailers))
    req.end(body)
  })
}

function lengthOf(body: string | undefined, trailers: readonly string[] | undefined): string[] {
  if (trailers !== undefined) return ['Transfer-Encoding', 'chunked']
  return body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))]
}

function pairs(lines: readonly string[]): [name: string, value: string][] {
  return lines.flatMap((name, at) => (at % 2 === 0 ? [[name, lines[at + 1] ?? '']] : []))
}

function askByHttp2(
  port: number,
  { ca }: Certificates,
  how: 'agreed' | 'unasked',
  { method = 'GET', path = '/', headers = [], body, trailers = [], from }: PortalRequest,
): Promise<PortalResponse> {
  return new Promise((resolve) => {
    const socket = connectTls({
      host: '127.0.0.1',
      port,
      ca,
      checkServerIdentity: () => undefined,
      servername: PORTAL_HOST,
      ALPNProtocols: [how === 'agreed' ? 'h2' : 'http/1.1'],
      ...(from === undefined ? {} : { localAddress: from }),
    })
    let answer: PortalResponse = { status: 0, headers: {}, text: '' }
    const done = () => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('error', done)
    const session = connectHttp2(`https://${PORTAL_HOST}`, { createConnection: () => socket })
    session.on('error', done).on('close', done)
    const stream = session.request(
      { ':method': method, ':path': path, ...Object.fromEntries(pairs(headers)) },
      { waitForTrailers: true, endStream: false },
    )
    stream.on('wantTrailers', () => stream.sendTrailers(Object.fromEntries(pairs(trailers))))
    stream.on('response', ({ ':status': status = 0, ...received }) => {
      answer = { ...answer, status, headers: received }
    })
    stream.on('data', (chunk) => {
      answer = { ...answer, text: answer.text + String(chunk) }
    })
    stream.on('error', done).on('close', done)
    stream.end(body)
  })
}
