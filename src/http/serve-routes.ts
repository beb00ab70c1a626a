import express, { type Express } from 'express'
import { notFound, wrongMethod } from '../errors.ts'
import { type Guard, guarded } from './compose-guards.ts'
import type { Route } from './route.ts'

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
 * Serves the routes in their order, paths without parameters first. An unknown method is 405 with
 * `Allow`. They are not a router of their own, which every request would pass into and out of.
 *
 * @param guardsFor what runs before the handler of a route
 */
export function addRoutes(
  app: Express,
  routes: readonly Route[],
  guardsFor: (route: Route) => readonly Guard[] = () => [],
): void {
  const paths = [...new Set(routes.map(({ path }) => path))]
  for (const path of paths.toSorted((a, b) => Number(a.includes(':')) - Number(b.includes(':')))) {
    const byMethod = new Map<string, Guard>()
    for (const route of routes.filter((one) => one.path === path)) {
      const handle = guarded(guardsFor(route), route.handle)
      byMethod.set(route.method, handle)
      if (route.method === 'GET' && !route.withoutHead) byMethod.set('HEAD', handle)
    }
    const allow = [...byMethod.keys()].join(', ')
    app.route(path).all((req, res, next) => {
      const handle = byMethod.get(req.method)
      if (handle === undefined) throw wrongMethod(allow)
      return handle(req, res, next)
    })
  }
}
