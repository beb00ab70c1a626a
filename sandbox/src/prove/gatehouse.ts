import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createBrokerListener, createEmbeddedBroker } from 'gatehouse/broker'
import type { Caller, Reply } from './caller.ts'
import { isRecord } from './json.ts'

export interface GatehouseOptions {
  readonly orgUrl: string
  readonly apiToken: string
  /** A turn of the org's limit is taken for each request of a browser. */
  readonly nextTurn: () => Promise<void>
}

/** A browser of a portal: keeps its cookies, and follows no redirect. */
export type PortalBrowser = Caller

export interface RunningGatehouse {
  readonly url: string
  newBrowser(): PortalBrowser
  close(): Promise<void>
}

/** A real broker in front of the org, in this process, with nothing outside it. */
export async function startGatehouse({
  orgUrl,
  apiToken,
  nextTurn,
}: GatehouseOptions): Promise<RunningGatehouse> {
  let app: ReturnType<typeof createEmbeddedBroker>['app'] | undefined
  const listener = createBrokerListener((req, res) => {
    if (app) app(req, res)
    else res.writeHead(503).end()
  })
  const url = `http://localhost:${await listener.listen(0, '127.0.0.1')}`
  const broker = createEmbeddedBroker({
    env: {
      PUBLIC_URL: url,
      AUTHN_BASE_URL: orgUrl,
      AUTHN_API_TOKEN: apiToken,
      SSO_REDIRECTS: `${orgUrl}/`,
      REDIS_URL: 'memory:',
      SECRET_KEYS: randomBytes(32).toString('base64'),
      LOG_LEVEL: 'warn',
    },
    logStream: new Writable({ write: (_line, _encoding, done) => done() }),
  })
  app = broker.app
  return {
    url,
    newBrowser: () => createBrowser(url, nextTurn),
    async close() {
      await listener.drain(0)
      await broker.close()
    },
  }
}

function createBrowser(url: string, nextTurn: () => Promise<void>): PortalBrowser {
  const cookies = new Map<string, string>()
  return async ({ method, path, body, headers = {} }): Promise<Reply> => {
    await nextTurn()
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const isNavigation = path.startsWith('/login/')
    const sent = send(new URL(path, url), {
      method,
      headers: {
        ...(isNavigation ? NAVIGATION : { origin: url, accept: 'application/json' }),
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
