import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { type Agent, request } from 'node:https'
import { join } from 'node:path'
import { type Certificates, makeCertificates } from './redis-certificates.ts'
import { freePort, makeDirectory, type RedisProcess, removeDirectory, startProcess } from './redis-process.ts'
import { until } from './until.ts'

const CONFIGURATION = join(import.meta.dirname, '../../deploy/proxies/nginx.conf')

/** The host of PUBLIC_URL in `deploy/proxies/nginx.conf`. */
export const PORTAL_HOST = 'portal.example.com'
export const PORTAL = `https://${PORTAL_HOST}`

export interface Nginx {
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

/**
 * A real nginx with the very `deploy/proxies/nginx.conf`, of which only what its head tells to replace is replaced. It
 * is one process, on a free port of the loopback interface, in a directory of its own.
 */
export async function startNginx(upstreams: {
  readonly gatehousePort: number
  readonly applicationPort: number
}): Promise<Nginx> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(await freePort(), upstreams)
    } catch (error) {
      // another test was quicker to take the port: then another one
      if (attempt === 5 || !(error instanceof Error && /already in use/i.test(error.message))) throw error
    }
  }
}

async function startOn(
  port: number,
  { gatehousePort, applicationPort }: { gatehousePort: number; applicationPort: number },
): Promise<Nginx> {
  const certificates = makeCertificates()
  const directory = makeDirectory()
  chmodSync(directory, 0o755)
  const file = (name: string) => join(directory, name)
  writeFileSync(
    file('portal.conf'),
    replaced(readFileSync(CONFIGURATION, 'utf8'), {
      'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
      '/etc/nginx/tls/portal.pem': certificates.certFile,
      '/etc/nginx/tls/portal.key': certificates.keyFile,
      'server 127.0.0.1:8080': `server 127.0.0.1:${gatehousePort}`,
      'server 127.0.0.1:3000': `server 127.0.0.1:${applicationPort}`,
      'root /srv/portal': `root ${directory}`,
    }),
  )
  writeFileSync(file('index.html'), 'the sign-in page')
  writeFileSync(file('nginx.conf'), mainConfiguration(directory))
  const running = startProcess(['-p', directory, '-c', file('nginx.conf')], directory, 'nginx')
  const stop = async () => {
    await running.end()
    removeDirectory(directory)
    certificates.remove()
  }
  const ask = (given: PortalAsk = {}) => askPortal(port, certificates, given)
  try {
    await untilAnswering(running, ask)
  } catch (error) {
    await stop()
    throw error
  }
  return { log: () => running.log(), ask, stop }
}

/** What belongs to the machine rather than to the portal. */
function mainConfiguration(directory: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
    daemon off; master_process off; pid ${directory}/nginx.pid; error_log stderr info;
    events {}
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n')}
      include ${directory}/portal.conf;
    }`
}

/** Each must stand there, or the file has changed and the test would start something else. */
function replaced(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`deploy/proxies/nginx.conf: "${from}" is not there`)
    return before.replaceAll(from, to)
  }, text)
}

/** Its certificate is by our own authority: on a port that another was quicker to take, nobody else can answer. */
async function untilAnswering(running: RedisProcess, ask: () => Promise<PortalAnswer>): Promise<void> {
  const isUp = () =>
    ask().then(
      () => true,
      () => false,
    )
  await until(async () => running.hasEnded() || (await isUp()), { what: 'nginx' })
  if (running.hasEnded()) throw new Error(`nginx did not start: ${running.log()}`)
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
    req.on('error', reject)
    req.end(body)
  })
}
