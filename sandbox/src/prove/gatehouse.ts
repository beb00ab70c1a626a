import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createBrokerListener, createEmbeddedBroker } from 'gatehouse/broker'
import type { Caller, Reply } from './caller.ts'
import { isRecord } from './json.ts'
import { startRelay } from './relay.ts'
import type { PamTarget } from './target.ts'

export interface GatehouseOptions {
  readonly orgUrl: string
  readonly apiToken: string
  /** The origin of the portal. Undefined: this machine's. */
  readonly portalOrigin: string | undefined
  readonly pam: PamTarget | undefined
  readonly recoveryAnswerMs: number | undefined
  readonly hookSecret: string
  /** Calls the org. */
  readonly call: Caller
  /** Resolves when a request of a browser can call the org without a wait. */
  readonly room: (calls: number) => Promise<void>
}

/** A browser of a portal: keeps its cookies, and follows no redirect. */
export interface Browser {
  readonly send: Caller
  /** The address that Gatehouse, and the org by its zones, see. */
  readonly address: string
}

export interface RunningGatehouse {
  /** Where it listens. */
  readonly url: string
  newBrowser(): Browser
  /** What Gatehouse has sent to the org since the last time. */
  readonly takeCalls: Awaited<ReturnType<typeof startRelay>>['take']
  /** The path and query at the org of a redirect of Gatehouse; undefined if it leads elsewhere. */
  pathAtOrg(location: string): string | undefined
  close(): Promise<void>
}

/** The most that one request of a browser makes Gatehouse call the org. */
const CALLS_OF_A_REQUEST = 3

/** A real broker in front of the org, in this process, with nothing outside it. */
export async function startGatehouse(options: GatehouseOptions): Promise<RunningGatehouse> {
  const { portalOrigin, call, room } = options
  let app: EmbeddedBroker['app'] | undefined
  const listener = createBrokerListener((req, res) => {
    if (app) app(req, res)
    else res.writeHead(503).end()
  })
  const relay = await startRelay({ call })
  const url = `http://localhost:${await listener.listen(0, LOOPBACK)}`
  const publicUrl = portalOrigin ?? url
  let broker: EmbeddedBroker | undefined
  const close = async () => {
    await listener.drain(0)
    await broker?.close()
    await relay.close()
  }
  try {
    broker = createBroker(options, { publicUrl, upstreamUrl: relay.url })
  } catch (error) {
    await close() // else its listeners keep the process alive
    throw error
  }
  app = broker.app
  let browsers = 0
  return {
    url,
    newBrowser() {
      browsers += 1
      const address = `198.51.100.${(browsers % 254) + 1}`
      return { address, send: createBrowser({ url, origin: publicUrl, address, room }) }
    },
    takeCalls: relay.take,
    pathAtOrg: (location) =>
      location.startsWith(`${relay.url}/`) ? location.slice(relay.url.length) : undefined,
    close,
  }
}

type EmbeddedBroker = ReturnType<typeof createEmbeddedBroker>

/** @throws if a variable is not valid */
function createBroker(
  { orgUrl, apiToken, pam, recoveryAnswerMs, hookSecret }: GatehouseOptions,
  { publicUrl, upstreamUrl }: { publicUrl: string; upstreamUrl: string },
): EmbeddedBroker {
  return createEmbeddedBroker({
    env: {
      PUBLIC_URL: publicUrl,
      AUTHN_BASE_URL: upstreamUrl,
      AUTHN_LINK_ORIGINS: orgUrl,
      AUTHN_API_TOKEN: apiToken,
      SSO_REDIRECTS: `${orgUrl}/`,
      EVENT_HOOK_SECRET: hookSecret,
      TRUST_PROXY: LOOPBACK,
      REDIS_URL: 'memory:',
      SECRET_KEYS: randomBytes(32).toString('base64'),
      LOG_LEVEL: 'warn',
      ...(pam && {
        PAM_BASE_URL: pam.url,
        PAM_TEAM: pam.team,
        PAM_KEY_ID: pam.keyId,
        PAM_KEY_SECRET: pam.keySecret,
      }),
    },
    tunables: ({ recovery, ...others }) => ({
      ...others,
      recovery: { ...recovery, recoveryAnswerMs: recoveryAnswerMs ?? recovery.recoveryAnswerMs },
    }),
    logStream: new Writable({ write: (_line, _encoding, done) => done() }),
  })
}

const LOOPBACK = '127.0.0.1'

interface BrowserOptions {
  readonly url: string
  readonly origin: string
  readonly address: string
  readonly room: GatehouseOptions['room']
}

function createBrowser({ url, origin, address, room }: BrowserOptions): Caller {
  const cookies = new Map<string, string>()
  return async ({ method, path, body, headers = {} }): Promise<Reply> => {
    await room(CALLS_OF_A_REQUEST)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const isNavigation = path.startsWith('/login/')
    const sent = send(new URL(path, url), {
      method,
      headers: {
        'x-forwarded-for': address,
        ...(isNavigation ? NAVIGATION : { origin, accept: 'application/json' }),
        ...(cookie === '' ? {} : { cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response]: IncomingMessage[] = await once(sent, 'response')
    if (response === undefined) throw new Error('no response')
    for (const line of response.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const answer = await text(response)
    const isJson = response.headers['content-type']?.includes('json') === true
    const data: unknown = isJson ? JSON.parse(answer) : undefined
    return {
      status: response.statusCode ?? 0,
      headers: headersOf(response),
      body: isRecord(data) ? data : {},
      data,
      text: answer,
    }
  }
}

/** What a browser says of a page that it opens. `fetch` of Node has no such requests. */
const NAVIGATION = {
  accept: 'text/html',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'same-origin',
}

function headersOf({ headers }: IncomingMessage): Headers {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, each]),
  )
  return new Headers(entries)
}
