import { isUtf8 } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { type ParsedUrlQuery, parse } from 'node:querystring'
import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import type { z } from 'zod'
import {
  BrokerError,
  bodyTooLarge,
  invalidField,
  notFound,
  notJson,
  overloaded,
  wrongContentType,
  wrongMethod,
} from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import { getRequestContext, siteForLimits } from './request-context.ts'
import { keepConnection } from './unread-body.ts'

/** A route of a listener. Modules export their routes as data; `app.ts` and `ops.ts` serve them. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** May contain `:name` segments. Also the route's name in logs and metrics. */
  readonly path: string
  readonly handle: (req: Request, res: Response) => Promise<void> | void
  /** Of the request body. Default: JSON. */
  readonly encoding?: BodyEncoding
  /** The handler reads the body itself, after checks of its own (`createBodyReader`). */
  readonly readsBody?: true
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

/** Serves the routes, as `addRoutes`, and answers every unknown path with 404. */
export function serveRoutes(...given: Parameters<typeof addRoutes>): void {
  addRoutes(...given)
  const [app] = given
  app.use(() => {
    throw notFound('path')
  })
}

/**
 * Serves the routes in their order, paths without parameters first. An unknown method is 405 with `Allow`. They are not a router of
 * their own, which every request would pass into and out of.
 *
 * @param before middleware of each route
 */
export function addRoutes(
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
    const served = app.route(path).all(function checkMethod(req, _res, next) {
      next(methods.includes(req.method) ? undefined : wrongMethod(methods.join(', ')))
    })
    for (const route of ofPath) served[VERBS[route.method]](...before(route), route.handle)
  }
}

const VERBS = { GET: 'get', POST: 'post', DELETE: 'delete' } as const

export type BodyEncoding = 'json' | 'form'

export const MEDIA_TYPES: Readonly<Record<BodyEncoding, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
}

const MAX_BODY_BYTES = 65_536

/**
 * Parses bodies into `req.body`: JSON objects or forms, in UTF-8. Without a body, `req.body` is an empty object, and the content type is not
 * checked.
 */
export function bodyParser(encoding: BodyEncoding = 'json', maxBytes = MAX_BODY_BYTES): RequestHandler {
  const mediaType = MEDIA_TYPES[encoding]
  const options = {
    limit: maxBytes,
    inflate: false,
    type(req: unknown) {
      if ((req as Request).is(mediaType)) return true // body-parser passes it the request of Express
      throw wrongContentType(mediaType)
    },
    /** Decoding would replace other bytes with U+FFFD, and a password would not be passed on byte for byte. */
    verify(_req: unknown, _res: unknown, bytes: Buffer, charset: string) {
      if (charset !== 'utf-8') throw wrongContentType(mediaType)
      if (!isUtf8(bytes)) throw notJson()
    },
  }
  const parseBody =
    encoding === 'json'
      ? express.json(options)
      : express.urlencoded({ ...options, extended: false, parameterLimit: MAX_BODY_BYTES })
  const refusalOf = (error: unknown): BrokerError => {
    if (error instanceof BrokerError) return error
    const { status } = error as { status?: number } // of http-errors. Its message, which may quote the body, is not kept
    if (status === 413) return bodyTooLarge(maxBytes)
    return status === 415 ? wrongContentType(mediaType) : notJson()
  }

  return function bodyParser(req, res, next) {
    keepConnection(req, res)
    const type = req.headers['content-type']
    if (type !== undefined) req.headers['content-type'] = type.replace(UTF8, '$1utf-8')
    const length = Number(req.headers['content-length'])
    if (length > maxBytes) throw bodyTooLarge(maxBytes) // Express would read the whole body first
    if (length === 0) {
      req.body = {} // Express would check the content type
      return next()
    }
    parseBody(req, res, (error?: unknown) => {
      if (error !== undefined) return next(refusalOf(error))
      req.body ??= {}
      next(Array.isArray(req.body) ? notJson() : undefined)
    })
  }
}

/** A common name of UTF-8 (WHATWG Encoding), which body-parser does not know. */
const UTF8 = /(;\s*charset\s*=\s*)(?:utf8|"utf8")(?=\s*(?:;|$))/i

/** For a handler that reads the body itself. Its errors are those of `bodyParser`. */
export function createBodyReader(maxBytes?: number): (req: Request, res: Response) => Promise<unknown> {
  const parse = bodyParser('json', maxBytes)
  return async (req, res) => {
    await new Promise<void>((resolve, reject) => {
      parse(req, res, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
    })
    return req.body
  }
}

/** By default, Node would ignore the parameters after the first 1,000, and they could not be refused. */
export function parseQuery(query: string): ParsedUrlQuery {
  return parse(query, '&', '=', { maxKeys: 0 })
}

const MAX_NAME_CHARS = 100 // in an error

/** @throws E0000001 that names every parameter that is wrong or unknown */
export function checkQuery<Schema extends z.ZodType>(
  schema: Schema,
  query: Readonly<Record<string, unknown>>,
): z.output<Schema> {
  const parsed = schema.safeParse(query)
  if (parsed.success) return parsed.data
  throw invalidField(
    ...parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((name) => `${name.slice(0, MAX_NAME_CHARS)}: unknown parameter`)
        : `${issue.path.map(String)[0]}: ${issue.message}`,
    ),
  )
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

/**
 * Refuses requests while too many are in flight: 503 E0000009. Their memory is bounded, and the
 * client can retry at another replica. A request counts from the arrival of its body until its
 * handler has finished, also if the client disconnects earlier. One address, or one IPv6 /48, gets
 * half of the capacity, so that it cannot use all of it while an upstream is slow; not less,
 * because a whole company may have one address.
 */
export function limitRequestsInFlight(
  routes: readonly Route[],
  { maxRequestsInFlight, metrics }: { readonly maxRequestsInFlight: number; readonly metrics: Metrics },
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
    throw overloaded()
  }

  return routes.map((route) => ({
    ...route,
    async handle(req, res) {
      const address = siteForLimits(getRequestContext(req).address)
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
