import { fileURLToPath } from 'node:url'
import type { Express, RequestHandler } from 'express'
import { v4 as uuid } from 'uuid'
import { errorHandler } from './http/error-handler.ts'
import { setRequestContext, socketAddress } from './http/request-context.ts'
import type { Route } from './http/route.ts'
import { sendJson } from './http/send-json.ts'
import { createExpress, serveRoutes } from './http/serve-routes.ts'
import { closeUnlessRead } from './http/unread-body.ts'
import type { Health } from './observability/health.ts'
import type { Logger } from './observability/logger.ts'
import type { Metrics } from './observability/metrics.ts'
import { VERSION } from './observability/version.ts'
import {
  type AdminRoutesOptions,
  createAdminRoutes,
  type OpsTokenDeps,
  requireOpsToken,
} from './ops/admin-routes.ts'

export interface OpsOptions extends AdminRoutesOptions {
  readonly access: Pick<OpsTokenDeps, 'opsTokens' | 'limits'>
  readonly health: Pick<Health, 'readiness'>
  readonly metrics: Metrics
  readonly log: Logger
  /** The git revision of the build. */
  readonly revision: string
}

/** The folder of `openapi.json`, which `npm run openapi` writes. */
export const DOCS = fileURLToPath(new URL('../docs/', import.meta.url))

/** The ops listener, for the platform and operators. It must never be published. */
export function createOps(options: OpsOptions): Express {
  const app = createExpress()
  app.use(beginOpsRequest())
  app.use('/admin', requireOpsToken({ ...options.access, log: options.log }))
  serveRoutes(app, [...opsRoutes(options), ...createAdminRoutes(options)])
  app.use(errorHandler({ log: options.log, unexpectedEvent: 'ops_error' }))
  return app
}

/** No proxy is in front of this listener, so it ignores request ids and addresses from headers. */
function beginOpsRequest(): RequestHandler {
  return function beginOpsRequest(req, res, next) {
    const address = socketAddress(req.socket)
    setRequestContext(req, res, { requestId: uuid(), isFromProxy: false, address })
    res.setHeader('Cache-Control', 'no-store')
    closeUnlessRead(req, res)
    next()
  }
}

function opsRoutes({ health, metrics, revision }: OpsOptions): Route[] {
  const get = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, handle })
  return [
    get('/livez', (_req, res) => sendJson(res, { status: 'alive', version: VERSION, revision })),
    get('/readyz', (_req, res) => {
      const readiness = health.readiness()
      sendJson(res.status(readiness.ready ? 200 : 503), readiness)
    }),
    get('/metrics', async (_req, res) => {
      const { ready, checks } = health.readiness()
      metrics.ready.set(ready ? 1 : 0)
      metrics.storeFailing.set(checks.store === 'failing' ? 1 : 0)
      res.type(metrics.registry.contentType).send(await metrics.registry.metrics())
    }),
    get('/openapi.json', (_req, res) => res.sendFile('openapi.json', { root: DOCS, cacheControl: false })),
  ]
}
