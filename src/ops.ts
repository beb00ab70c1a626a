import express, { type Express, type RequestHandler } from 'express'
import { v4 as uuid } from 'uuid'
import { errorHandler } from './http/error-handler.ts'
import { setRequestContext, socketAddress } from './http/request-context.ts'
import { createRouteTable, type Route, sendJson, sendJsonText, serveRoutes } from './http/routes.ts'
import type { Health } from './observability/health.ts'
import type { Logger } from './observability/logger.ts'
import type { Metrics } from './observability/metrics.ts'
import { VERSION } from './observability/version.ts'
import { openApiDocument } from './openapi/document.ts'
import {
  type AdminRoutesOptions,
  createAdminRoutes,
  type RequireOpsTokenOptions,
  requireOpsToken,
} from './session/admin-routes.ts'

export interface OpsOptions extends AdminRoutesOptions, RequireOpsTokenOptions {
  readonly health: Health
  readonly metrics: Metrics
  readonly log: Logger
}

/** The ops listener, for the platform and operators. It must never be published. */
export function createOps(options: OpsOptions): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing') // of `/admin`
  app.use(beginOpsRequest())
  app.use('/admin', requireOpsToken(options))
  app.use(serveRoutes(createRouteTable([...opsRoutes(options), ...createAdminRoutes(options)])))
  app.use(errorHandler({ log: options.log, unexpectedEvent: 'ops_error' }))
  return app
}

/** No proxy is in front of this listener, so it ignores request ids and addresses from headers. */
function beginOpsRequest(): RequestHandler {
  return function beginOpsRequest(req, res, next) {
    setRequestContext(req, res, { requestId: uuid(), address: socketAddress(req.socket) })
    res.setHeader('Cache-Control', 'no-store')
    next()
  }
}

function opsRoutes({ health, metrics }: OpsOptions): Route[] {
  /** Built on the first request, because it takes longer than the rest of the start. */
  let openApi: string | undefined
  const get = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, handle })
  return [
    get('/livez', (_req, res) => sendJson(res, { status: 'alive', version: VERSION })),
    get('/readyz', async (_req, res) => {
      const readiness = await health.readiness()
      sendJson(res.status(readiness.ready ? 200 : 503), readiness)
    }),
    get('/metrics', async (_req, res) => {
      metrics.ready.set((await health.readiness()).ready ? 1 : 0)
      res.type(metrics.registry.contentType).send(await metrics.registry.metrics())
    }),
    get('/openapi.json', (_req, res) => {
      openApi ??= JSON.stringify(openApiDocument())
      sendJsonText(res, openApi)
    }),
  ]
}
