import type { Request, RequestHandler, Response, Router } from 'express'
import { wrongMethod } from '../errors.ts'

/** One line of the public surface (DESIGN §2). A room exports its routes as data; `app.ts` mounts them. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** An Express path template; it also names the route in logs and metrics. */
  readonly path: string
  readonly handle: (req: Request, res: Response) => Promise<void> | void
}

/** Mounts every route; a listed path asked with another method is a 405 that names the methods it has. */
export function mountRoutes(router: Router, routes: readonly Route[]): void {
  const paths = new Map<string, Route[]>()
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route])

  for (const [path, routesOfPath] of paths) {
    const mounted = router.route(path)
    for (const { method, handle } of routesOfPath) {
      mounted[METHODS[method]](async (req, res) => {
        await handle(req, res)
      })
    }
    mounted.all(refuseMethod(allowOf(routesOfPath)))
  }
}

const METHODS = { GET: 'get', POST: 'post', DELETE: 'delete' } as const

function allowOf(routes: readonly Route[]): string {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return [...new Set(methods)].join(', ')
}

function refuseMethod(allow: string): RequestHandler {
  return function methodNotAllowed() {
    throw wrongMethod(allow)
  }
}
