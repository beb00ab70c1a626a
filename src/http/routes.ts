import type { ServerResponse } from 'node:http'
import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import helmet from 'helmet'
import type { z } from 'zod'
import { notFound, temporarilyUnavailable, wrongMethod } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { BodyEncoding } from './request-body.ts'
import { addressForLimits, getRequestContext } from './request-context.ts'

/** A route of a listener. Modules export their routes as data; `app.ts` and `ops.ts` serve them. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** May contain `:name` segments. Also the route's name in logs and metrics. */
  readonly path: string
  readonly handle: (req: Request, res: Response) => Promise<void> | void
  /** Of the request body. Default: JSON. */
  readonly encoding?: BodyEncoding
  /** For a GET with side effects: HEAD, which must be safe, gets 405. */
  readonly withoutHead?: true
  /**
   * For a GET: the pages that may read it without an allowed `Origin`, besides those of the same origin.
   * `same-site`: an image for pages of the same site. `any-site`: a navigation, or a proxy's sub-request, which has the
   * headers of the application's own request.
   */
  readonly readableFrom?: 'same-site' | 'any-site'
}

/**
 * An operation of the public API: its route, and the schemas that parse its requests. `routesOf` adds the handlers; `openapi/`
 * describes its responses and errors.
 */
export interface Operation extends Omit<Route, 'handle'> {
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
}

/** By operation id, which is the name in generated clients and never changes. */
export type Operations = Readonly<Record<string, Operation>>

/** The types require a handler for every operation. */
export function routesOf<Id extends string>(
  operations: Readonly<Record<Id, Operation>>,
  handlers: Readonly<Record<Id, Route['handle']>>,
): Route[] {
  const ids = Object.keys(operations) as Id[] // literals, so there are no other keys
  return ids.map((id) => ({ ...operations[id], handle: handlers[id] }))
}

export function createExpress(): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.enable('strict routing')
  return app
}

/**
 * Serves the routes in their order, paths without parameters first. An unknown path is 404, an unknown method 405 with `Allow`.
 * They are not a router of their own, which every request would pass into and out of.
 *
 * @param before middleware of each route
 */
export function serveRoutes(
  app: Express,
  routes: readonly Route[],
  before: (route: Route) => readonly RequestHandler[] = () => [],
): void {
  const paths = [...new Set(routes.map(({ path }) => path))]
  for (const path of paths.toSorted(
    (one, other) => Number(one.includes(':')) - Number(other.includes(':')),
  )) {
    const ofPath = routes.filter((route) => route.path === path)
    const methods = ofPath.flatMap(({ method, withoutHead }) =>
      method === 'GET' && !withoutHead ? ['GET', 'HEAD'] : [method],
    )
    const served = app.route(path).all(function nameRoute(req, _res, next) {
      getRequestContext(req).route = path
      next(methods.includes(req.method) ? undefined : wrongMethod(methods.join(', ')))
    })
    for (const route of ofPath) served[VERBS[route.method]](...before(route), route.handle)
  }
  app.use(() => {
    throw notFound('path')
  })
}

const VERBS = { GET: 'get', POST: 'post', DELETE: 'delete' } as const

/**
 * Security headers of an API without pages: nothing may be loaded, framed or stored. HSTS depends on PUBLIC_URL, not on what a proxy
 * says about the connection (RFC 6797: only over https).
 */
export function setSecurityHeaders({ secure }: { readonly secure: boolean }): RequestHandler {
  const setHelmetHeaders = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'frame-ancestors': ["'none'"],
        'base-uri': ["'none'"],
        'form-action': ["'none'"],
      },
    },
    strictTransportSecurity: secure ? { maxAge: 31_536_000, includeSubDomains: false } : false,
    referrerPolicy: { policy: 'no-referrer' },
    frameguard: { action: 'deny' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
  })
  return function setSecurityHeaders(req, res, next) {
    res.setHeader('Cache-Control', 'no-store')
    setHelmetHeaders(req, res, next)
  }
}

/** Sends JSON without the ETag, freshness and charset handling of Express's `res.json`, which no response needs. */
export function sendJson(res: ServerResponse, body: unknown): void {
  sendJsonText(res, JSON.stringify(body))
}

export function sendJsonText(res: ServerResponse, text: string): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.setHeader('Content-Length', Buffer.byteLength(text))
  res.end(text)
}

export interface RequestsInFlightOptions {
  readonly maxRequestsInFlight: number
  readonly metrics: Metrics
}

const RETRY_AFTER_SECONDS = 2

/**
 * Refuses requests while too many are in flight: 503 E0000009. Their memory is bounded, and the client can retry at another replica. A request
 * counts from the arrival of its body until its handler has finished, also if the client disconnects earlier. One address gets half of the
 * capacity, so that it cannot use all of it while an upstream is slow; not less, because a whole company may have one address.
 */
export function limitRequestsInFlight(
  routes: readonly Route[],
  { maxRequestsInFlight, metrics }: RequestsInFlightOptions,
): Route[] {
  let total = 0
  const byAddress = new Map<string, number>()
  const count = (address: string, change: 1 | -1) => {
    const own = (byAddress.get(address) ?? 0) + change
    if (own === 0) byAddress.delete(address)
    else byAddress.set(address, own)
    total += change
    metrics.httpRequestsInFlight.set(total)
  }
  const refuse = (reason: 'in_flight' | 'address'): never => {
    metrics.requestsShed.inc({ reason })
    throw temporarilyUnavailable(RETRY_AFTER_SECONDS)
  }

  return routes.map((route) => ({
    ...route,
    async handle(req, res) {
      const address = addressForLimits(getRequestContext(req).address)
      if (total >= maxRequestsInFlight) refuse('in_flight')
      if ((byAddress.get(address) ?? 0) >= maxRequestsInFlight / 2) refuse('address')
      count(address, 1)
      try {
        await route.handle(req, res)
      } finally {
        count(address, -1)
      }
    },
  }))
}
