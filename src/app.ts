import express, { type Express } from 'express'
import { createNavigationRoutes, type NavigationRoutesOptions } from './authn/redirects/navigation-routes.ts'
import { type AuthnRoutesOptions, createAuthnRoutes } from './authn/routes.ts'
import { createCrossSiteRules } from './http/cross-site.ts'
import { type AnswerProbesOptions, answerProbes } from './http/doctor-probe.ts'
import { errorHandler } from './http/error-handler.ts'
import { createGarbageCollector } from './http/garbage-collector.ts'
import { createLoadShedding, type LoadLimits } from './http/load-shedding.ts'
import { bodyParser, parseQuery } from './http/request-body.ts'
import { beginRequest, type IsTrustedProxy, refuseUnknownAddress } from './http/request-context.ts'
import {
  addSecurityHeaders,
  composeMiddleware,
  createRouteTable,
  type Route,
  refuseLongUrl,
  runRequestHooks,
  serveRoutes,
} from './http/routes.ts'
import { type BodyLimits, countBodies, createUnfinishedBodies } from './http/unfinished-bodies.ts'
import type { EventLoopLag } from './observability/event-loop-lag.ts'
import type { LogThrottleOptions } from './observability/log-throttle.ts'
import type { Metrics } from './observability/metrics.ts'
import { createForwardAuthRoutes } from './session/forward-auth.ts'
import {
  createOwnSessionsRoutes,
  createSessionRoutes,
  type SessionRoutesOptions,
} from './session/session-routes.ts'
import { refuseOtherSession, withSession } from './session/sessions.ts'

export interface AppOptions extends SessionRoutesOptions {
  /** Whether PUBLIC_URL is https. */
  readonly secure: boolean
  readonly allowedOrigins: readonly string[]
  readonly isTrustedProxy: IsTrustedProxy
  readonly limits: AppLimits
  readonly logThrottle: LogThrottleOptions
  readonly lag: Pick<EventLoopLag, 'ms'>
  readonly authn: AuthnRoutesOptions
  readonly navigation: NavigationRoutesOptions
  readonly pamRoutes: readonly Route[]
  readonly doctorProbes: AnswerProbesOptions
  readonly metrics: Metrics
}

export interface AppLimits {
  readonly bodyLimitBytes: number
  readonly maxUrlBytes: number
  readonly unfinishedBodies: BodyLimits
  readonly load: LoadLimits
}

/** The public listener: the middleware that every request passes, in order, and all routes. */
export function createApp(options: AppOptions): Express {
  const { publicOrigin, allowedOrigins, limits, isTrustedProxy, logThrottle, lag, sessions } = options
  const { log, metrics } = options
  const crossSite = createCrossSiteRules({
    origins: [publicOrigin, ...allowedOrigins],
    hasSessionCookie: options.cookie.isPresent,
    logThrottle,
    log,
    metrics,
  })
  const findRoutes = createRouteTable(crossSite.protectReads(publicRoutes(options)))
  const load = createLoadShedding({
    limits: limits.load,
    findRoutes,
    lag,
    metrics,
  })
  const unfinishedBodies = createUnfinishedBodies({
    limits: limits.unfinishedBodies,
    retryAfterSeconds: limits.load.retryAfterSeconds,
    garbage: createGarbageCollector(),
    metrics,
  })

  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', parseQuery)
  addSecurityHeaders(app, { secure: options.secure })
  app.use(
    composeMiddleware(
      beginRequest({ isTrustedProxy, log, metrics }),
      countBodies(unfinishedBodies),
      runRequestHooks(findRoutes),
      crossSite.allowOrigins, // first, so that pages of allowed origins can read refusals
      refuseUnknownAddress({ logThrottle, log, metrics }),
      load.admit,
      refuseLongUrl({ maxUrlBytes: limits.maxUrlBytes }),
      crossSite.refuseUnsafe,
      bodyParser({ limitBytes: limits.bodyLimitBytes, findRoutes }),
      load.reserve,
      refuseOtherSession(sessions),
      serveRoutes(findRoutes),
    ),
  )
  app.use(errorHandler({ log, unexpectedEvent: 'unexpected_error' }))
  return app
}

/** All routes of the public listener. */
export function publicRoutes(options: AppOptions): Route[] {
  const { sessions } = options
  return [
    ...createAuthnRoutes(options.authn),
    ...createNavigationRoutes(options.navigation),
    ...answerProbes(withSession(sessions, createSessionRoutes(options)), options.doctorProbes),
    ...withSession(sessions, [
      ...createOwnSessionsRoutes(options),
      ...options.authn.deviceRoutes,
      ...createForwardAuthRoutes(options),
    ]),
    ...options.pamRoutes,
  ]
}
