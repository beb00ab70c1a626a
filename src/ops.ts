import express, { type ErrorRequestHandler, type Express } from 'express'
import { v4 as uuid } from 'uuid'
import { BrokerError, internalError, notFound, toErrorObject } from './errors.ts'
import { mountRoutes, type Route } from './http/routes.ts'
import type { Health } from './observability/health.ts'
import type { Logger } from './observability/logger.ts'
import type { Metrics } from './observability/metrics.ts'
import { openApiDocument } from './openapi.ts'

export interface OpsParts {
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
  app.use((_req, res, next) => {
    res.setHeader('Cache-Control', 'no-store')
    next()
  })
  mountRoutes(app, opsRoutes(parts))
  app.use(() => {
    throw notFound('path')
  })
  app.use(presentOpsError(parts.log))
  return app
}

function opsRoutes({ health, metrics }: OpsParts): Route[] {
  const openApi = JSON.stringify(openApiDocument())
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
        res.type(metrics.registry.contentType).send(await metrics.registry.metrics())
      },
    },
    {
      method: 'GET',
      path: '/openapi.json',
      handle(_req, res) {
        res.type('json').send(openApi)
      },
    },
  ]
}

function presentOpsError(log: Logger): ErrorRequestHandler {
  return function presentOpsError(error, _req, res, _next) {
    const known = error instanceof BrokerError ? error : internalError(error)
    const errorId = uuid()
    if (known.status >= 500)
      log.error('ops_error', { requestId: errorId, status: known.status }, known.cause ?? known)
    res.status(known.status).set(known.headers).json(toErrorObject(known, errorId))
  }
}
