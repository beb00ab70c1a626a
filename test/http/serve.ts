import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { afterEach } from '@jest/globals'
import type { Express, RequestHandler } from 'express'
import { beginRequest } from '../../src/http/begin-request.ts'
import { type Guard, guarded } from '../../src/http/compose-guards.ts'
import { errorHandler } from '../../src/http/error-handler.ts'
import { createListener, type ListenerOptions } from '../../src/http/listener.ts'
import { createTrustedProxies, refuseUnknownAddress, type Telemetry } from '../../src/http/request-context.ts'
import type { Route } from '../../src/http/route.ts'
import { createExpress, serveRoutes } from '../../src/http/serve-routes.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import { type CollectedLog, collectLog } from '../observability/collect-log.ts'
import { TIMEOUT_MS } from '../support/until.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown
}

export interface Ask {
  readonly method?: string
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Buffer
  /** Sends the body chunked. */
  readonly chunked?: boolean
}

export interface ServeParts {
  readonly before?: readonly RequestHandler[]
  readonly routes?: readonly Route[]
  readonly trusted?: readonly string[]
  readonly patience?: Partial<ListenerOptions>
  /** The log of the routes under test. */
  readonly collected?: CollectedLog
  readonly metrics?: Metrics
  /** The clock of the error handler. */
  readonly now?: () => number
  /** Changes the application before its first middleware. */
  readonly prepare?: (app: Express) => void
}

export const PATIENCE = {
  maxConnections: 1000,
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  connectionsCheckingInterval: 2000,
  keepAliveTimeoutMs: 600_000,
  inactivityTimeoutMs: 20_000,
}

/**
 * A server on a free port, with the middleware under test between the first and the last of the
 * real ones.
 */
export async function serve({
  before = [],
  routes = [],
  trusted = [],
  prepare,
  patience,
  now = () => performance.now(),
  collected = collectLog('debug'),
  metrics = createMetrics(),
}: ServeParts) {
  const { log, lines, text } = collected
  const app = createExpress()
  prepare?.(app)
  app.use(beginRequest(createTrustedProxies(trusted), { log, metrics }))
  app.use(refuseUnknownAddress({ log, metrics }))
  for (const middleware of before) app.use(middleware)
  serveRoutes(app, routes)
  app.use(errorHandler({ log, unexpectedEvent: 'unexpected_error', now }))
  const { ask, raw, port, close } = await listenFor(app, patience, { log, metrics })
  return { ask, raw, port, close, lines, logText: text, metrics }
}

/** The handler of a route behind guards, as `app.ts` composes it. */
export function handlerOf(guards: readonly Guard[], { handle }: Route): Route['handle'] {
  const run = guarded(guards, handle)
  return async (req, res) => {
    await run(req, res, () => undefined)
  }
}

/** Serves an Express application on a free port. */
export async function listenFor(
  app: Express,
  patience: Partial<ListenerOptions> = {},
  telemetry?: Telemetry,
) {
  const listener = createListener(app, { ...PATIENCE, ...patience }, telemetry)
  const port = await listener.listen(0, '127.0.0.1')
  return {
    port,
    ask: (ask: Ask = {}) => askPort(port, ask),
    raw: (text: string | Buffer) => rawExchange(port, text),
    close: () => listener.drain(0),
  }
}

export function askPort(port: number, { method = 'GET', path = '/', headers = {}, body, chunked }: Ask) {
  return new Promise<Answer>((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json: jsonOf(text) })
      })
    })
    req.on('error', reject)
    req.setTimeout(TIMEOUT_MS, () => req.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
    if (body !== undefined && chunked !== true) req.setHeader('Content-Length', Buffer.byteLength(body))
    if (body !== undefined) req.write(body)
    req.end()
  })
}

/** Sends bytes and returns the data that arrives until the server closes the connection. */
export function rawExchange(port: number, text: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy()) // for a server that never closes it
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // not JSON
  }
}

/** Returns a function that has a server closed after the test. */
export function useKeeper() {
  const { keep, closeAll } = keeper()
  afterEach(closeAll)
  return keep
}

/** Collects servers that must be closed after each test. */
export function keeper() {
  const kept: (() => Promise<unknown> | unknown)[] = []
  return {
    keep<Thing extends { close(): Promise<unknown> | unknown }>(thing: Thing): Thing {
      kept.push(() => thing.close())
      return thing
    },
    async closeAll() {
      for (const close of kept.splice(0).reverse()) await close()
    },
  }
}
