import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Express, Request, RequestHandler, Response } from 'express'
import helmet from 'helmet'
import { notFound, tooLong, wrongMethod } from '../errors.ts'
import type { LoadKind } from './load-shedding.ts'
import type { BodyEncoding } from './request-body.ts'
import { getRequestContext } from './request-context.ts'

/** A route of a listener. Modules export their routes as data; `app.ts` and `ops.ts` serve them. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** May contain `:name` segments. Also the route's name in logs and metrics. */
  readonly path: string
  readonly handle: (req: Request, res: Response) => Promise<void> | void
  /** Called for every request of this path, before any middleware can refuse it. */
  readonly onRequest?: (req: Request, res: Response) => void
  /** Of the request body. Default: JSON. */
  readonly encoding?: BodyEncoding
  /** The requests that it shares capacity with. Default: `sign_in`. */
  readonly loadKind?: LoadKind
  /** For a GET with side effects: HEAD, which must be safe, gets 405. */
  readonly withoutHead?: true
  /**
   * For a GET: the pages that may read it without an allowed `Origin`, besides those of the same origin.
   * `same-site`: an image for pages of the same site. `any-site`: a navigation, or a proxy's sub-request, which has the
   * headers of the application's own request.
   */
  readonly readableFrom?: 'same-site' | 'any-site'
}

/** The routes of one path. */
export interface PathRoutes {
  readonly path: string
  readonly encoding: BodyEncoding
  readonly loadKind: LoadKind | undefined
  readonly onRequest: Route['onRequest']
  /** Undefined for a path without parameters. */
  readonly pattern: RegExp | undefined
  /** By method. */
  readonly handlers: ReadonlyMap<string, Route['handle']>
  /** Value of the `Allow` header. */
  readonly allow: string
}

/** Finds the routes of a path. A path without parameters has precedence over a pattern that matches it. */
export type FindRoutes = (path: string) => PathRoutes | undefined

/**
 * Replaces Express's router, which tries one pattern after the other and allocates memory for each. Paths without parameters are
 * looked up in a map. Middleware that runs before the routing uses the same table.
 */
export function createRouteTable(routes: readonly Route[]): FindRoutes {
  const byPath = new Map<string, Route[]>()
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  const all = [...byPath].map(([path, ofPath]) => pathRoutes(path, ofPath))
  const literals = new Map(all.filter(({ pattern }) => !pattern).map((routes) => [routes.path, routes]))
  const patterns = all.filter(({ pattern }) => pattern)
  return (path) => literals.get(path) ?? patterns.find(({ pattern }) => pattern?.test(path))
}

function pathRoutes(path: string, routes: readonly Route[]): PathRoutes {
  const handlers = new Map<string, Route['handle']>()
  for (const { method, handle, withoutHead } of routes) {
    handlers.set(method, handle)
    if (method === 'GET' && !withoutHead) handlers.set('HEAD', handle)
  }
  return {
    path,
    encoding: routes.find(({ encoding }) => encoding)?.encoding ?? 'json',
    loadKind: routes[0]?.loadKind,
    onRequest: routes.find(({ onRequest }) => onRequest)?.onRequest,
    pattern: path.includes(':') ? new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`) : undefined,
    handlers,
    allow: [...handlers.keys()].join(', '),
  }
}

export function runRequestHooks(findRoutes: FindRoutes): RequestHandler {
  return function runRequestHooks(req, res, next) {
    findRoutes(req.path)?.onRequest?.(req, res)
    next()
  }
}

/** The last middleware: calls the handler of the route. An unknown path is 404, an unknown method 405 with `Allow`. */
export function serveRoutes(findRoutes: FindRoutes): RequestHandler {
  return function serveRoutes(req, res) {
    const found = findRoutes(req.path)
    if (found === undefined) throw notFound('path')
    if (found.pattern) req.params = decoded(found.pattern.exec(req.path)?.groups)
    getRequestContext(req).route = found.path
    const handle = found.handlers.get(req.method)
    if (handle === undefined) throw wrongMethod(found.allow)
    return handle(req, res)
  }
}

/** Throws a URIError, which becomes a 400, if a segment is not percent-encoded UTF-8. */
function decoded(params: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]))
}

export function refuseLongUrl({ maxUrlBytes }: { maxUrlBytes: number }): RequestHandler {
  return function refuseLongUrl(req, _res, next) {
    if (Buffer.byteLength(req.url) > maxUrlBytes) throw tooLong('url', 414)
    next()
  }
}

/**
 * Composes middleware into one function. Express's router searches for the next layer after each one, with closures and a match. For
 * the ten functions that every request passes, that took a tenth of the time of a session check (docs/performance.md).
 */
export function composeMiddleware(...handlers: readonly RequestHandler[]): RequestHandler {
  return function composed(req, res, next) {
    let index = 0
    const advance = (error?: unknown): void => {
      const handler = error ? undefined : handlers[index++]
      if (handler === undefined) {
        next(error)
        return
      }
      try {
        const pending: unknown = handler(req, res, advance)
        // as in Express, a rejection without a reason is an error too
        if (pending instanceof Promise) pending.catch((error) => next(error || new Error('rejected promise')))
      } catch (thrown) {
        next(thrown)
      }
    }
    advance()
  }
}

/**
 * Security headers of an API without pages: nothing may be loaded, framed or stored. HSTS depends on PUBLIC_URL, not on what a proxy
 * says about the connection (RFC 6797: only over https).
 *
 * They are set when the head of a response is written, and do not replace headers that a route has set. Set earlier, they would stay
 * in memory until the end of the response, and be copied by the garbage collector: a tenth of the time of a session check
 * (docs/performance.md).
 */
export function addSecurityHeaders(app: Express, { secure }: { readonly secure: boolean }): void {
  const headers = [['Cache-Control', 'no-store'] as const, ...headersOf(helmetFor(secure))]
  const { writeHead } = ServerResponse.prototype
  app.response.writeHead = function writeHeadWithSecurityHeaders(...args: unknown[]) {
    for (const [name, value] of headers) if (!this.hasHeader(name)) this.setHeader(name, value)
    return Reflect.apply(writeHead, this, args)
  }
}

const helmetFor = (secure: boolean) =>
  helmet({
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

/** The headers that helmet sets, which are the same for every response. */
function headersOf(middleware: ReturnType<typeof helmet>): [name: string, value: string][] {
  const res = new ServerResponse(new IncomingMessage(new Socket()))
  middleware(res.req, res, (error) => {
    if (error !== undefined) throw error
  })
  return Object.entries(res.getHeaders()).map(([name, value]) => [name, String(value)])
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
