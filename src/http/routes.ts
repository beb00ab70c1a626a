import type { Request, RequestHandler, Response } from 'express'
import { notFound, tooLong, wrongMethod } from '../errors.ts'
import type { LoadKind } from './load-shedding.ts'
import type { BodyEncoding } from './request-body.ts'
import { getRequestContext } from './request-context.ts'

/** One route of a listener (DESIGN §2). A module exports its routes as data; `app.ts` and `ops.ts` serve them. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** A literal path, or one with `:name` segments; it also names the route in logs and metrics. */
  readonly path: string
  readonly handle: (req: Request, res: Response) => Promise<void> | void
  /** Called before anything can refuse a request of this path. */
  readonly onRequest?: (req: Request, res: Response) => void
  /** Of its request body; JSON unless set. */
  readonly encoding?: BodyEncoding
  /** Which requests share its capacity; `sign_in` unless set. */
  readonly loadKind?: LoadKind
  /** Set for a GET that changes something: HEAD, which must be safe, is a 405. */
  readonly withoutHead?: true
  /**
   * Of a GET: which pages may read it without an allowed `Origin`, besides those of its own origin (DESIGN §4,
   * "Cross-site requests"). `same-site`: an image for pages of the same site. `any-site`: a navigation, or a proxy's
   * sub-request, which carries the headers of the application's own request.
   */
  readonly readableFrom?: 'same-site' | 'any-site'
}

/** The routes of one path. */
export interface PathRoutes {
  readonly path: string
  readonly encoding: BodyEncoding
  readonly loadKind: LoadKind | undefined
  readonly onRequest: Route['onRequest']
  /** Undefined for a literal path. */
  readonly pattern: RegExp | undefined
  /** By method. */
  readonly handlers: ReadonlyMap<string, Route['handle']>
  /** Value of the `Allow` header. */
  readonly allow: string
}

/** Finds the routes of a request's path. A literal path has precedence over a pattern that matches it. */
export type FindRoutes = (path: string) => PathRoutes | undefined

/**
 * Replaces Express's router, which tries one pattern after the other, and allocates for each: literal paths are looked up, and
 * whatever must be known of a request before it is routed comes from the same table.
 */
export function createRouteTable(routes: readonly Route[]): FindRoutes {
  const byPath = new Map<string, Route[]>()
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  const all = [...byPath].map(([path, ofPath]) => pathRoutes(path, ofPath))
  const literals = new Map(all.filter(({ pattern }) => !pattern).map((found) => [found.path, found]))
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

/** Calls `Route.onRequest`, whatever the method. */
export function runRequestHooks(findRoutes: FindRoutes): RequestHandler {
  return function runRequestHooks(req, res, next) {
    findRoutes(req.path)?.onRequest?.(req, res)
    next()
  }
}

/** Calls the route of a request, as the last middleware. An unlisted path is a 404, an unlisted method a 405 with `Allow`. */
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

/** Throws a URIError if a segment is not percent-encoded UTF-8: a 400, as in Express. */
function decoded(params: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]))
}

/** Refuses a URL that is longer than any valid one. */
export function refuseLongUrl({ maxUrlBytes }: { maxUrlBytes: number }): RequestHandler {
  return function refuseLongUrl(req, _res, next) {
    if (Buffer.byteLength(req.url) > maxUrlBytes) throw tooLong('url', 414)
    next()
  }
}

/**
 * Composes middleware into one. Express's router searches for the next layer after each, with closures and a match for
 * every one: for the ten that all requests pass, that was a tenth of a session check (docs/performance.md).
 */
export function composeMiddleware(...handlers: readonly RequestHandler[]): RequestHandler {
  return function composed(req, res, next) {
    let at = 0
    const advance = (error?: unknown): void => {
      const handler = error ? undefined : handlers[at++]
      if (handler === undefined) {
        next(error)
        return
      }
      try {
        const pending: unknown = handler(req, res, advance)
        // as in Express: a rejection without a reason is an error too
        if (pending instanceof Promise) pending.catch((error) => next(error || new Error('rejected promise')))
      } catch (thrown) {
        next(thrown)
      }
    }
    advance()
  }
}
