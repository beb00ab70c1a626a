import type { Express } from 'express'
import { createNavigationRoutes, type NavigationRoutesOptions } from './authn/redirects/navigation-routes.ts'
import { type AuthnRoutesOptions, createAuthnRoutes } from './authn/routes.ts'
import { beginForwardAuth } from './forward-auth/begin-forward-auth.ts'
import {
  createForwardAuthRoutes,
  createKeySetRoutes,
  type ForwardAuthOptions,
} from './forward-auth/forward-auth.ts'
import type { HandOver } from './forward-auth/hand-over.ts'
import { createHandOverRoutes } from './forward-auth/hand-over-routes.ts'
import { beginRequest, setSecurityHeaders } from './http/begin-request.ts'
import { parseBody } from './http/body-parser.ts'
import { composed, type GuardRow, guarded, guardsOf } from './http/compose-guards.ts'
import { createCrossSiteRules } from './http/cross-site.ts'
import { type AnswerProbesOptions, answerProbes } from './http/doctor-probe.ts'
import { errorHandler } from './http/error-handler.ts'
import { parseQuery } from './http/query.ts'
import { refuseAmbiguousPath } from './http/refuse-ambiguous-path.ts'
import { type IsTrustedProxy, refuseUnknownAddress, type Telemetry } from './http/request-context.ts'
import { createInFlightLimit } from './http/requests-in-flight.ts'
import { kindOf, type Route, type RouteKind } from './http/route.ts'
import { addRoutes, createExpress, serveRoutes } from './http/serve-routes.ts'
import { createOrgEventRoutes, type OrgEventRoutesOptions } from './org-events/org-event-routes.ts'
import { type BoundSessionRoutesOptions, createBoundSessionRoutes } from './session/bound-session-routes.ts'
import { createSessionGuards } from './session/session-guards.ts'
import {
  createOwnSessionsRoutes,
  createSessionRoutes,
  type SessionRoutesOptions,
} from './session/session-routes.ts'

export interface AppOptions
  extends SessionRoutesOptions,
    Pick<BoundSessionRoutesOptions, 'store'>,
    Telemetry {
  /** Whether PUBLIC_URL is https. */
  readonly secure: boolean
  readonly allowedOrigins: readonly string[]
  readonly allowedHeaders: readonly string[]
  readonly isTrustedProxy: IsTrustedProxy
  readonly maxRequestsInFlight: number
  readonly authn: AuthnRoutesOptions
  readonly navigation: NavigationRoutesOptions
  readonly pamRoutes: readonly Route[]
  /** Of the portal's own backends. */
  readonly appRoutes: readonly Route[]
  readonly forwardAuth: Omit<ForwardAuthOptions, 'sessions'>
  readonly handOver: HandOver
  readonly orgEvents: OrgEventRoutesOptions
  readonly doctorProbes: AnswerProbesOptions
}

/** The columns of the table of guards. `unlisted`: of paths without a route. */
type Column = RouteKind | 'unlisted'
const [F, B, O, I] = ['forward-auth', 'backend', 'open', 'image'] as const
const [R, S, W, D, X] = ['read', 'session-read', 'write', 'form', 'session-write'] as const
const [K, H, U, _] = ['bound-session', 'event-hook', 'unlisted', undefined] as const

/**
 * When a guard runs:
 *
 * - `first`: before any route is looked for;
 * - `paths`: for F, B and K on their routes; for the others before their routes are looked for, and
 *   so for unlisted paths too;
 * - `route`: on the route.
 */
type Phase = 'first' | 'paths' | 'route'

interface Row extends GuardRow<Column> {
  readonly phase: Phase
}

/**
 * What runs before the handler of a route. Rows: the guards, in the order in which they run.
 * Columns: the kinds of routes.
 *
 * A proxy sends the method and the headers of the application's own request to forward-auth (F), so
 * no rule on cross-site requests and bodies applies, and the doctor's probes are not answered. Nor
 * do these rules apply to backends (B). Pages of other origins never read what browsers get with
 * their proofs of a key (K): it would show whether somebody is signed in.
 */
export function createGuards(options: AppOptions): readonly Row[] {
  const { publicOrigin, allowedOrigins, maxRequestsInFlight, isTrustedProxy, secure, log, metrics } = options
  const crossSite = createCrossSiteRules({
    origins: [publicOrigin, ...allowedOrigins],
    headers: options.allowedHeaders,
    sessionCookie: options.sessionCookie,
    log,
    metrics,
  })
  const begin = beginRequest(isTrustedProxy, options)
  const { loadApplicationSession } = options.handOver
  const { loadSession, refuseOtherSession } = createSessionGuards(options.sessions)
  const refuseUnknown = refuseUnknownAddress({ log, metrics })
  const limitInFlight = createInFlightLimit({ maxRequestsInFlight, metrics })

  return [
    { phase: 'first', of: [F, B, O, I, R, S, W, D, X, K, H, U], guard: begin },
    { phase: 'first', of: [F, B, O, I, R, S, W, D, X, K, H, U], guard: setSecurityHeaders({ secure }) },
    { phase: 'route', of: [F, _, _, _, _, _, _, _, _, _, _, _], guard: beginForwardAuth(metrics) },
    // before all that refuse, so that pages of allowed origins can read refusals
    { phase: 'paths', of: [_, _, O, I, R, S, W, D, X, _, H, U], guard: crossSite.allowOrigins },
    { phase: 'paths', of: [_, B, O, I, R, S, W, D, X, K, H, U], guard: refuseAmbiguousPath },
    { phase: 'paths', of: [_, _, O, I, R, S, W, D, X, K, H, U], guard: crossSite.refuseUnsafe },
    { phase: 'paths', of: [_, _, O, I, R, S, W, D, X, _, H, U], guard: answerProbes(options.doctorProbes) },
    { phase: 'paths', of: [F, B, O, I, R, S, W, D, X, K, H, U], guard: refuseUnknown },
    // a path without a route is 404 here, and a method that its path does not have is 405
    { phase: 'route', of: [_, _, _, _, _, _, W, _, X, _, _, _], guard: parseBody('json') },
    { phase: 'route', of: [_, _, _, _, _, _, _, D, _, _, _, _], guard: parseBody('form') },
    { phase: 'route', of: [_, _, _, _, R, S, _, _, _, _, _, _], guard: crossSite.refuseReads },
    { phase: 'route', of: [_, _, _, I, _, _, _, _, _, _, _, _], guard: crossSite.refuseImageReads },
    { phase: 'route', of: [F, B, O, I, R, S, W, D, X, K, H, _], guard: limitInFlight },
    { phase: 'route', of: [F, _, _, _, _, _, _, _, _, _, _, _], guard: loadApplicationSession },
    { phase: 'route', of: [F, _, O, I, R, S, W, D, X, _, H, _], guard: refuseOtherSession },
    { phase: 'route', of: [F, _, _, _, _, S, _, _, X, K, _, _], guard: loadSession },
  ]
}

/** The public listener. */
export function createApp(options: AppOptions): Express {
  const table = createGuards(options)
  const routes = publicRoutes(options)
  const guardsIn = (column: Column, ...phases: readonly Phase[]) => {
    const rows = table.filter(({ phase }) => phases.includes(phase))
    return guardsOf(rows, column)
  }
  const routesOfKinds = (...kinds: readonly RouteKind[]) =>
    routes.filter((route) => kinds.includes(kindOf(route)))

  const app = createExpress()
  app.set('query parser', parseQuery)
  app.use(composed(guardsIn(U, 'first')))
  for (const { path, handle } of routesOfKinds(F))
    app.route(path).all(guarded(guardsIn(F, 'paths', 'route'), handle))
  addRoutes(app, routesOfKinds(B, K), (route) => guardsIn(kindOf(route), 'paths', 'route'))
  app.use(composed(guardsIn(U, 'paths'))) // as in the columns O to X, and H
  serveRoutes(app, routesOfKinds(O, I, R, S, W, D, X, H), (route) => guardsIn(kindOf(route), 'route'))
  app.use(errorHandler({ log: options.log, unexpectedEvent: 'unexpected_error' }))
  return app
}

/** All routes of the public listener, those of page views first. */
export function publicRoutes(options: AppOptions): Route[] {
  const { sessions } = options
  return [
    ...createSessionRoutes(options),
    ...createForwardAuthRoutes({ sessions, ...options.forwardAuth }),
    ...createHandOverRoutes(options),
    ...createOwnSessionsRoutes(options),
    ...createBoundSessionRoutes(options),
    ...options.pamRoutes,
    ...createKeySetRoutes(options.forwardAuth),
    ...createAuthnRoutes(options.authn),
    ...createNavigationRoutes(options.navigation),
    ...createOrgEventRoutes(options.orgEvents),
    ...options.appRoutes,
  ]
}
