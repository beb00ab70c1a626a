import type { Express } from 'express'
import { createNavigationRoutes, type NavigationRoutesOptions } from './authn/redirects/navigation-routes.ts'
import { type AuthnRoutesOptions, createAuthnRoutes } from './authn/routes.ts'
import {
  beginForwardAuth,
  createForwardAuthRoutes,
  createKeySetRoutes,
  FORWARD_AUTH_OPERATIONS,
  type ForwardAuthOptions,
} from './forward-auth/forward-auth.ts'
import { beginRequest, setSecurityHeaders } from './http/begin-request.ts'
import { bodyParser } from './http/body-parser.ts'
import { createCrossSiteRules } from './http/cross-site.ts'
import { type AnswerProbesOptions, answerProbes, PROBE_HEADER } from './http/doctor-probe.ts'
import { errorHandler } from './http/error-handler.ts'
import { parseQuery } from './http/query.ts'
import { refuseAmbiguousPath } from './http/refuse-ambiguous-path.ts'
import {
  type IsTrustedProxy,
  refuseUnknownAddress,
  type Telemetry,
  withHeader,
} from './http/request-context.ts'
import { limitRequestsInFlight } from './http/requests-in-flight.ts'
import type { Route } from './http/route.ts'
import { addRoutes, createExpress, serveRoutes } from './http/serve-routes.ts'
import { createOrgEventRoutes, type OrgEventRoutesOptions } from './org-events/org-event-routes.ts'
import {
  createOwnSessionsRoutes,
  createSessionRoutes,
  type SessionRoutesOptions,
} from './session/session-routes.ts'
import { refuseOtherSession, withSession } from './session/sessions.ts'

export interface AppOptions extends SessionRoutesOptions, Telemetry {
  /** Whether PUBLIC_URL is https. */
  readonly secure: boolean
  readonly allowedOrigins: readonly string[]
  readonly isTrustedProxy: IsTrustedProxy
  readonly maxRequestsInFlight: number
  readonly authn: AuthnRoutesOptions
  readonly navigation: NavigationRoutesOptions
  readonly pamRoutes: readonly Route[]
  /** Of the portal's own backends. */
  readonly appRoutes: readonly Route[]
  readonly forwardAuth: Omit<ForwardAuthOptions, 'sessions'>
  readonly orgEvents: OrgEventRoutesOptions
  readonly doctorProbes: AnswerProbesOptions
}

/** The public listener: the middleware that every request passes, in order, and all routes. */
export function createApp(options: AppOptions): Express {
  const { publicOrigin, allowedOrigins, maxRequestsInFlight, isTrustedProxy } = options
  const { log, metrics } = options
  const crossSite = createCrossSiteRules({
    origins: [publicOrigin, ...allowedOrigins],
    hasSessionCookie: options.cookie.isPresent,
    log,
    metrics,
  })
  const routes = crossSite.protectReads(
    limitRequestsInFlight(publicRoutes(options), { maxRequestsInFlight, metrics }),
  )
  const checkAddress = refuseUnknownAddress({ log, metrics })

  const app = createExpress()
  app.set('query parser', parseQuery)
  app.use(beginRequest(isTrustedProxy, options), setSecurityHeaders({ secure: options.secure }))
  for (const { path, handle } of routes.filter(isForwardAuth))
    app.route(path).all(beginForwardAuth(metrics), checkAddress, handle)
  addRoutes(app, routes.filter(isOfApp), () => [refuseAmbiguousPath, checkAddress])
  app.use(
    crossSite.allowOrigins, // first, so that pages of allowed origins can read refusals
    refuseAmbiguousPath,
    crossSite.refuseUnsafe,
    withHeader(PROBE_HEADER, answerProbes(options.doctorProbes)),
    checkAddress,
  )
  const others = routes.filter((route) => !isForwardAuth(route) && !isOfApp(route))
  serveRoutes(app, others, ({ method, encoding, readsBody }) =>
    method === 'GET' || readsBody ? [] : [bodyParser(encoding)],
  )
  app.use(errorHandler({ log, unexpectedEvent: 'unexpected_error' }))
  return app
}

/**
 * A proxy sends the method and the headers of the application's own request there, so no rule on cross-site requests and bodies applies.
 * The doctor's probes are not answered there.
 */
const isForwardAuth = ({ path }: Route) => path === FORWARD_AUTH_OPERATIONS.forwardAuth.path

/** A backend has no session and no origin, so no rule on them applies. */
const isOfApp = ({ path }: Route) => path.startsWith('/app/v1/')

/** All routes of the public listener, those of page views first. */
export function publicRoutes(options: AppOptions): Route[] {
  return [...refuseOtherSession(options.sessions, browserRoutes(options)), ...options.appRoutes]
}

function browserRoutes(options: AppOptions): Route[] {
  const { sessions } = options
  return [
    ...withSession(sessions, [
      ...createSessionRoutes(options),
      ...createForwardAuthRoutes({ sessions, ...options.forwardAuth }),
      ...createOwnSessionsRoutes(options),
    ]),
    ...options.pamRoutes,
    ...createKeySetRoutes(options.forwardAuth),
    ...createAuthnRoutes(options.authn),
    ...createNavigationRoutes(options.navigation),
    ...createOrgEventRoutes(options.orgEvents),
  ]
}
