import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parsePamConfig } from 'gatehouse-sandbox/pam/pam-config'
import type { SandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import { AMELIA, type Harness, type HarnessOptions, PASSWORD, startHarness } from './harness.ts'
import { PORTAL, PROXIES, type ProxyName, REPORTS_HOST, WIKI_HOST } from './proxies.ts'
import { type PortalRequest, type PortalResponse, type RunningProxy, startProxy } from './proxy.ts'

/**
 * A portal: a proxy configured by its example in `deploy/proxies/`, a broker and an application.
 */
export interface Portal {
  readonly harness: Harness
  readonly proxy: RunningProxy
  /** The requests that the application received, oldest first. */
  readonly arrived: readonly Arrived[]
  /** Signs in through the proxy and returns the browser's `Cookie` header. */
  signIn(login: string, from?: string): Promise<string>
  /** Requests the application with these cookies. */
  open(cookie: string | undefined, ask?: PortalRequest): Promise<PortalResponse>
  stop(): Promise<void>
}

export interface Arrived {
  readonly method: string
  readonly url: string
  /**
   * Every header and trailer, with normalized names: lower case, and a hyphen for other characters,
   * as some servers treat them.
   */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** A user whom PAM does not know, with a login that a header cannot contain without encoding. */
export const ZOE = 'zoë.王@exämple.test'

/** A user in 250 groups with long names, and in one that gives a role. */
export const MEMBER_OF_MANY = 'marta.groups@example.test'

export const HOOK_SECRET = 'plainly-fake-hook-secret'

/** Of the portal's own backend. */
export const APP_TOKEN = 'plainly-fake-token-of-the-portal'

export async function startPortal({
  proxy: name = 'nginx',
  calendarPort,
  ...options
}: Pick<HarnessOptions, 'now'> & {
  readonly proxy?: ProxyName
  readonly calendarPort?: number | undefined
} = {}): Promise<Portal> {
  const arrived: Arrived[] = []
  const application = createServer({ maxHeaderSize: 1_000_000 }, async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    arrived.push(arrivedFrom(req, Buffer.concat(chunks).toString()))
    const { status, headers } = answerFor(req)
    for (const [name, value] of headers) res.appendHeader(name, value)
    res.statusCode = status
    res.end('the application')
  })
  application.maxHeadersCount = 0
  application.keepAliveTimeout = 600_000
  // accepts every upgrade, as some servers accept h2c
  application.on('upgrade', (req, socket) => {
    arrived.push(arrivedFrom(req, ''))
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      'Connection: Upgrade',
      `Upgrade: ${req.headers.upgrade}`,
    ]
    socket.end(`${lines.join('\r\n')}\r\n\r\n`)
  })
  await new Promise<void>((resolve) => {
    application.listen(0, '127.0.0.1', resolve)
  })
  const harness = await startHarness({
    ...options,
    sandboxConfig: withUsers,
    env: {
      PUBLIC_URL: PORTAL,
      RETURN_TO: `https://${WIKI_HOST}/,https://${REPORTS_HOST}/`,
      TRUST_PROXY: '127.0.0.1',
      EVENT_HOOK_SECRET: HOOK_SECRET,
      APP_TOKENS: `portal:${APP_TOKEN}`,
    },
  })
  const stop = async () => {
    application.closeAllConnections()
    await Promise.all([harness.stop(), new Promise((resolve) => application.close(resolve))])
  }
  const { host } = new URL(harness.gatehouse.url.replace('localhost', '127.0.0.1'))
  const proxy = await startProxy(name, {
    gatehouse: [host, host],
    opsPort: Number(new URL(harness.gatehouse.opsUrl).port),
    applicationPort: (application.address() as AddressInfo).port, // listening on TCP
    calendarPort,
  }).catch(async (error: unknown) => {
    await stop()
    throw error
  })

  return {
    harness,
    proxy,
    arrived,
    async signIn(login, from) {
      const at = from === undefined ? {} : { from }
      const first = await proxy.ask({ path: '/api/v1/sessions/me', ...at })
      const device = cookiesOf(first)
      const answer = await proxy.ask({
        method: 'POST',
        path: '/api/v1/authn',
        headers: ['Content-Type', 'application/json', 'Origin', PORTAL, 'Cookie', device],
        body: JSON.stringify({ username: login, password: PASSWORD }),
        ...at,
      })
      if (answer.status !== 200) throw new Error(`${login} could not sign in: ${answer.text}`)
      return `${device}; ${cookiesOf(answer)}`
    },
    open: (cookie, ask = {}) =>
      proxy.ask({
        path: PROXIES[name].applicationPath,
        ...ask,
        headers: [...(cookie === undefined ? [] : ['Cookie', cookie]), ...(ask.headers ?? [])],
      }),
    async stop() {
      await proxy.stop()
      await stop()
    },
  }
}

/** What the application answers, as JSON in the query of the request. */
export interface ApplicationAnswer {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** The query that makes the application answer this. */
export const answeringWith = (answer: ApplicationAnswer) =>
  `?answer=${encodeURIComponent(JSON.stringify(answer))}`

function answerFor({ url = '/' }: IncomingMessage): ApplicationAnswer {
  const [, given] = /[?&]answer=([^&]*)/.exec(url) ?? []
  // of a test
  if (given !== undefined) return JSON.parse(decodeURIComponent(given)) as ApplicationAnswer
  return { status: url === '/app/own-refusal' ? 401 : 200, headers: [] }
}

function arrivedFrom(
  { method = '', url = '', rawHeaders, rawTrailers }: IncomingMessage,
  body: string,
): Arrived {
  const lines = [...rawHeaders, ...rawTrailers]
  const headers = lines.flatMap((name, at) =>
    at % 2 === 0 ? [[name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-'), lines[at + 1] ?? ''] as const] : [],
  )
  return { method, url, headers, body }
}

/** The cookies that a response sets, as a `Cookie` header. */
export function cookiesOf({ headers }: PortalResponse): string {
  return (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';', 1)[0]).join('; ')
}

/** Adds users who need only a password. */
function withUsers(config: SandboxConfig): SandboxConfig {
  const users = config.users.flatMap((person) =>
    person.login === AMELIA
      ? [person, ...[ZOE, MEMBER_OF_MANY].map((login) => ({ ...person, login }))]
      : [person],
  )
  const many = Array.from({ length: 250 }, (_, n) => ({
    id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    name: `Zugänge „Zürich“, Abteilung ${n} – Übergabe der Wartungsgeräte`,
    roles: [],
    disconnectedMode: false,
  }))
  const pam = parsePamConfig(config.pam)
  const memberships = { ...pam.users, [MEMBER_OF_MANY]: ['Platform Admins', ...many.map(({ name }) => name)] }
  return { ...config, users, pam: { ...pam, groups: [...pam.groups, ...many], users: memberships } }
}
