import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { type Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
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
  /** What it has written to its error log. */
  log(): string
  ask(ask?: PortalAsk): Promise<PortalAnswer>
  stop(): Promise<void>
}

export interface PortalAsk {
  readonly method?: string
  readonly path?: string
  /** Names and values by turns: names as they are spelt, and as often as they stand here. */
  readonly headers?: readonly string[]
  readonly body?: string
  /** The address that the client has; one of 127.0.0.0/8. */
  readonly from?: string
  /** Keeps connections, and shares them with who asks with the same one. */
  readonly agent?: Agent
}

export interface PortalAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Upstreams {
  readonly gatehousePort: number
  readonly applicationPort: number
}

export const SIGN_IN_PAGE = 'the sign-in page'

/** A real proxy with its example from `deploy/proxies/`: one process, on a free port, in a directory of its own. */
export async function startProxy(name: ProxyName, upstreams: Upstreams): Promise<RunningProxy> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(await freePort(), name, upstreams)
    } catch (error) {
      // another test was quicker to take the port: then another one
      if (attempt === 5 || !(error instanceof Error && /in use|cannot bind/i.test(error.message))) throw error
    }
  }
}

async function startOn(port: number, name: ProxyName, upstreams: Upstreams): Promise<RunningProxy> {
  const certificates = makeCertificates()
  const directory = makeDirectory()
  chmodSync(directory, 0o755) // a proxy that is started as root gives its rights up
  writeFileSync(join(directory, 'index.html'), SIGN_IN_PAGE)
  const pages = await servePages()
  const { programs, prepare } = PROXIES[name]
  const pagesPort = (pages.address() as AddressInfo).port // listening on TCP
  const args = prepare({ port, pagesPort, directory, certificates, ...upstreams })
  const running = startProcess(args, directory, installed(programs))
  const stop = async () => {
    await running.end()
    pages.closeAllConnections()
    await new Promise((resolve) => pages.close(resolve))
    removeDirectory(directory)
    certificates.remove()
  }
  const ask = (given: PortalAsk = {}) => askPortal(port, certificates, given)
  try {
    await untilAnswering(name, running, ask)
  } catch (error) {
    await stop()
    throw error
  }
  return { log: () => running.log(), ask, stop }
}

async function servePages(): Promise<Server> {
  const server = createServer((_req, res) => res.end(SIGN_IN_PAGE))
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return server
}

/** The first of these names that there is; the first one, if there is none, for the message. */
function installed([first = '', ...others]: readonly string[]): string {
  const isThere = (program: string) =>
    SEARCH_PATH.split(delimiter).some((directory) => existsSync(join(directory, program)))
  return [first, ...others].find(isThere) ?? first
}

/** Its certificate is by our own authority: on a port that another was quicker to take, nobody else can answer. */
async function untilAnswering(
  name: string,
  running: RedisProcess,
  ask: () => Promise<PortalAnswer>,
): Promise<void> {
  const isUp = () =>
    ask().then(
      () => true,
      () => false,
    )
  await until(async () => running.hasEnded() || (await isUp()), { what: name })
  if (running.hasEnded()) throw new Error(`${name} did not start: ${running.log()}`)
}

function askPortal(port: number, { ca }: Certificates, given: PortalAsk): Promise<PortalAnswer> {
  const { method = 'GET', path = '/', headers = [], body, from, agent } = given
  return new Promise((resolve, reject) => {
    const req = request(
      {
        host: '127.0.0.1',
        port,
        ca,
        checkServerIdentity: () => undefined, // the certificate is for localhost, the portal's name is another
        servername: PORTAL_HOST,
        method,
        path,
        headers: [
          ...['Host', PORTAL_HOST],
          ...(body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))]),
          ...headers,
        ],
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
    req.end(body)
  })
}
