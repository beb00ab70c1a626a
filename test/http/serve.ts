import { Agent } from 'node:http'
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
import { type Ask, askPort, rawExchange } from '../support/ask-port.ts'

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
  const agent = new Agent({ keepAlive: true })
  return {
    port,
    ask: (ask: Ask = {}) => askPort(port, ask, agent),
    raw: (text: string | Buffer) => rawExchange(port, text),
    async close() {
      agent.destroy()
      await listener.drain(0)
    },
  }
}
