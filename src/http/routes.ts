import type { Request, RequestHandler, Response, Router } from 'express'
import { wrongMethod } from '../errors.ts'
import type { BodyEncoding } from './body-encoding.ts'

/** One line of the public surface (DESIGN §2). A room exports its routes as data; `app.ts` mounts them. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** An Express path template; it also names the route in logs and metrics. */
  readonly path: string
  readonly handle: (req: Request, res: Response) => Promise<void> | void
  /** How its body must be written; JSON unless it says so. */
  readonly encoding?: BodyEncoding
  /** A GET that uses something up: asked as HEAD, which should only look, it is a 405. */
  readonly withoutHead?: true
  /**
   * Of a GET: whose pages it serves without an allowed `Origin`, beside those of its own origin (DESIGN §4,
   * "Cross-site requests"). `same-site`: an image for pages of the same site. `any-site`: a navigation, or a proxy's
   * sub-request, whose headers are those of the application's own request.
   */
  readonly getFrom?: 'same-site' | 'any-site'
}

/**
 * Mounts every route; a listed path asked with another method is a 405 that names the methods it has. Paths without a
 * parameter are looked up; only for the others does Express try one pattern after the other.
 */
export function mountRoutes(router: Router, routes: readonly Route[]): void {
  const paths = new Map<string, Route[]>()
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route])
  const [patterns, literals] = [new Map(paths), new Map<string, LiteralPath>()]
  for (const [path, routesOfPath] of paths) {
    if (!LITERAL.test(path)) continue
    literals.set(path, literalPath(path, routesOfPath))
    patterns.delete(path)
  }

  router.use(byLiteralPath(literals))
  for (const [path, routesOfPath] of patterns) {
    const mounted = router.route(path)
    const refuse = refuseMethod(allowOf(routesOfPath))
    for (const { method, handle, withoutHead } of routesOfPath) {
      if (withoutHead) mounted.head(refuse) // else Express would take the GET for it
      mounted[METHODS[method]](async (req, res) => {
        await handle(req, res)
      })
    }
    mounted.all(refuse)
  }
}

/** Whether a path belongs to one of these routes; for what must be known before a request is routed. */
export function matchPaths(routes: readonly Pick<Route, 'path'>[]): (path: string) => boolean {
  const patterns = routes.map(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`))
  return (path) => patterns.some((pattern) => pattern.test(path))
}

const METHODS = { GET: 'get', POST: 'post', DELETE: 'delete' } as const
/** Nothing in it means more than itself in an Express path. */
const LITERAL = /^[\w/-]+$/

interface LiteralPath {
  /** Stands in `req.route`, as Express would put it there. */
  readonly route: { readonly path: string }
  readonly handlers: ReadonlyMap<string, Route['handle']>
  readonly allow: string
}

function literalPath(path: string, routes: readonly Route[]): LiteralPath {
  const handlers = new Map<string, Route['handle']>()
  for (const { method, handle, withoutHead } of routes) {
    handlers.set(method, handle)
    if (method === 'GET' && !withoutHead) handlers.set('HEAD', handle)
  }
  return { route: { path }, handlers, allow: allowOf(routes) }
}

function byLiteralPath(literals: ReadonlyMap<string, LiteralPath>): RequestHandler {
  return function byLiteralPath(req, res, next) {
    const found = literals.get(req.path)
    if (found === undefined) return next()
    req.route = found.route
    const handle = found.handlers.get(req.method)
    if (handle === undefined) throw wrongMethod(found.allow)
    return handle(req, res) // Express takes a rejection for an error
  }
}

function allowOf(routes: readonly Route[]): string {
  const methods = routes.flatMap(({ method, withoutHead }) =>
    method === 'GET' && !withoutHead ? ['GET', 'HEAD'] : [method],
  )
  return [...new Set(methods)].join(', ')
}

function refuseMethod(allow: string): RequestHandler {
  return function methodNotAllowed() {
    throw wrongMethod(allow)
  }
}
