import express, { type Express, type Request, type Response } from 'express'
import { createNavigationRoutes, type NavigationRoutesParts } from './authn/redirects/navigation-routes.ts'
import type { AuthnRoutesParts } from './authn/routes.ts'
import { createAuthnRoutes } from './authn/routes.ts'
import { auditCrossSite } from './http/audit-cross-site.ts'
import { beginRequest } from './http/begin-request.ts'
import { type BodyLimits, createBodiesInFlight } from './http/bodies-in-flight.ts'
import type { TrustedProxies } from './http/client-address.ts'
import { createGarbageCollector } from './http/collect-garbage.ts'
import { countBodies } from './http/count-body.ts'
import { crossOrigin } from './http/cross-origin.ts'
import { inOrder } from './http/in-order.ts'
import { jsonBody } from './http/json-body.ts'
import { noSuchPath, presentError } from './http/present-error.ts'
import { createCrossSiteRules } from './http/refuse-cross-site.ts'
import { refuseLongUrl } from './http/refuse-malformed.ts'
import { refuseUnknownAddress } from './http/refuse-unknown-address.ts'
import { createReportOrigin } from './http/report-origin.ts'
import { matchPaths, mountRoutes, type Route } from './http/routes.ts'
import { addSecurityHeaders } from './http/security-headers.ts'
import { type RoutesByKind, type ShedLoadParts, shedLoad } from './http/shed-load.ts'
import { wholeQuery } from './http/whole-query.ts'
import { createLogThrottle, type LogThrottleOptions } from './observability/log-throttle.ts'
import type { Logger } from './observability/logger.ts'
import type { Metrics } from './observability/metrics.ts'
import type { EndAllSessions } from './session/end-all-sessions.ts'
import { createForwardAuthRoutes, prepareForwardAuth } from './session/forward-auth.ts'
import type { SessionCookie } from './session/session-cookie.ts'
import { createOwnSessionsRoutes, createSessionRoutes, refuseOtherSession } from './session/session-routes.ts'
import type { Sessions } from './session/sessions.ts'

export interface AppParts {
  readonly publicOrigin: string
  readonly secure: boolean
  readonly allowedOrigins: readonly string[]
  readonly isTrustedProxy: TrustedProxies
  readonly bodyLimitBytes: number
  readonly unfinishedBodies: BodyLimits
  readonly maxUrlBytes: number
  readonly logThrottle: LogThrottleOptions
  readonly load: Omit<ShedLoadParts, 'metrics' | 'routes'>
  readonly sessions: Sessions
  readonly sessionCookie: SessionCookie
  readonly endAllSessions: EndAllSessions
  readonly ensureDevice: (req: Request, res: Response) => unknown
  readonly authn: AuthnRoutesParts
  readonly navigation: NavigationRoutesParts
  readonly pamRoutes: readonly Route[]
  readonly log: Logger
  readonly metrics: Metrics
}

/** The public listener, from top to bottom: what happens to a request, and every route there is. */
export function createApp(parts: AppParts): Express {
  const { log, metrics, sessions, sessionCookie, isTrustedProxy } = parts
  const origins = [parts.publicOrigin, ...parts.allowedOrigins]
  const routes = routesByKind(parts)
  const takesForm = matchPaths(
    Object.values(routes)
      .flat()
      .filter(({ encoding }) => encoding === 'form'),
  )
  const bodies = createBodiesInFlight({
    limits: parts.unfinishedBodies,
    retryAfterSeconds: parts.load.limits.retryAfterSeconds,
    garbage: createGarbageCollector(),
    metrics,
  })
  const load = shedLoad({ ...parts.load, routes, metrics })
  const reportOrigin = createReportOrigin({ mayLog: createLogThrottle(parts.logThrottle), log })
  const crossSite = createCrossSiteRules({
    origins,
    bearsSessionCookie: sessionCookie.isIn,
    reportOrigin,
    onRefused: auditCrossSite({ log }),
    metrics,
  })
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', wholeQuery)
  app.enable('case sensitive routing') // a path that is not listed letter by letter is a 404
  app.enable('strict routing')

  addSecurityHeaders(app, { secure: parts.secure })
  app.use(
    inOrder(
      beginRequest({ isTrustedProxy, log, metrics }),
      countBodies(bodies),
      prepareForwardAuth({ metrics }),
      crossOrigin({ origins, reportOrigin }), // before every refusal: a page of an allowed origin may read it
      refuseUnknownAddress({ mayLog: createLogThrottle(parts.logThrottle), log, metrics }),
      load.atTheDoor,
      refuseLongUrl({ maxUrlBytes: parts.maxUrlBytes }),
      crossSite.refuseUnsafe,
      jsonBody({ limitBytes: parts.bodyLimitBytes, takesForm }),
      load.inside,
      refuseOtherSession({ sessions }),
    ),
  )

  mountRoutes(app, crossSite.guardReads(Object.values(routes).flat()))

  app.use(noSuchPath())
  app.use(presentError({ log }))
  return app
}

/** The public surface (DESIGN §2). */
export function publicRoutes(parts: AppParts): Route[] {
  return Object.values(routesByKind(parts)).flat()
}

/** Which of them share a fate under load. */
function routesByKind(parts: AppParts): RoutesByKind {
  const { publicOrigin, sessions, endAllSessions, sessionCookie: cookie, ensureDevice, log } = parts
  const authn = createAuthnRoutes(parts.authn)
  return {
    sign_in: [...authn.filter((route) => !recovers(route)), ...createNavigationRoutes(parts.navigation)],
    recovery: authn.filter(recovers),
    session: [
      ...createSessionRoutes({ publicOrigin, sessions, cookie, ensureDevice, log }),
      ...createOwnSessionsRoutes({ sessions, endAllSessions, cookie, log }),
      ...createForwardAuthRoutes({ sessions }),
    ],
    pam: parts.pamRoutes,
  }
}

function recovers({ path }: Route): boolean {
  return path.startsWith('/api/v1/authn/recovery/')
}
