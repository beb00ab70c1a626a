import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import { v4 as uuid } from 'uuid'
import { notFound, toErrorObject } from './errors.ts'
import { socketAddress } from './http/client-address.ts'
import { asBrokerError, logTrouble } from './http/present-error.ts'
import { contextOf, setContext } from './http/request-context.ts'
import { mountRoutes, type Route } from './http/routes.ts'
import type { Health } from './observability/health.ts'
import type { Logger } from './observability/logger.ts'
import type { Metrics } from './observability/metrics.ts'
import { openApiDocument } from './openapi.ts'
import {
  type AdminRoutesParts,
  createAdminRoutes,
  type GuardAdminParts,
  guardAdmin,
} from './session/admin-routes.ts'

export interface OpsParts extends AdminRoutesParts, GuardAdminParts {
  readonly health: Health
  readonly metrics: Metrics
  readonly log: Logger
}

/** The ops listener: for the platform and the people who run it, never published. */
export function createOps(parts: OpsParts): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.use(beginOpsRequest())
  app.use('/admin', guardAdmin(parts))
  mountRoutes(app, [...opsRoutes(parts), ...createAdminRoutes(parts)])
  app.use(() => {
    throw notFound('path')
  })
  app.use(presentOpsError(parts.log))
  return app
}

/** No proxy stands before this listener: nobody's word on an id or an address is taken. */
function beginOpsRequest(): RequestHandler {
  return function beginOpsRequest(req, res, next) {
    const requestId = uuid()
    setContext(req, { requestId, traceId: undefined, address: socketAddress(req.socket) })
    res.setHeader('X-Request-Id', requestId)
    res.setHeader('Cache-Control', 'no-store')
    next()
  }
}

function opsRoutes({ health, metrics }: OpsParts): Route[] {
  /** Made when it is first asked for: it takes longer than all the rest of the start. */
  let openApi: string | undefined
  return [
    {
      method: 'GET',
      path: '/livez',
      handle(_req, res) {
        res.json({ status: 'alive' })
      },
    },
    {
      method: 'GET',
      path: '/readyz',
      async handle(_req, res) {
        const readiness = await health.readiness()
        res.status(readiness.ready ? 200 : 503).json(readiness)
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      async handle(_req, res) {
        metrics.ready.set((await health.readiness()).ready ? 1 : 0)
        res.type(metrics.registry.contentType).send(await metrics.registry.metrics())
      },
    },
    {
      method: 'GET',
      path: '/openapi.json',
      handle(_req, res) {
        openApi ??= JSON.stringify(openApiDocument())
        res.type('json').send(openApi)
      },
    },
  ]
}

function presentOpsError(log: Logger): ErrorRequestHandler {
  return function presentOpsError(error, req, res, _next) {
    const known = asBrokerError(error)
    const { requestId } = contextOf(req)
    if (known.status >= 500) logTrouble(log, known, requestId, 'ops_error')
    res.status(known.status).set(known.headers).json(toErrorObject(known, requestId))
  }
}
