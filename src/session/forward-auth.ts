import type { Request, Response } from 'express'
import { type Operations, routesOf } from '../http/operation.ts'
import { getRequestContext } from '../http/request-context.ts'
import type { Route } from '../http/routes.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

/** The proxy passes them to the application, and must remove them from the client's request. */
const IDENTITY_HEADERS = [
  'X-Auth-Request-User',
  'X-Auth-Request-Preferred-Username',
  'X-Auth-Request-Session',
] as const

export const FORWARD_AUTH_OPERATIONS = {
  forwardAuth: {
    method: 'GET',
    path: '/forward-auth',
    readableFrom: 'any-site',
    tag: 'Session',
    loadKind: 'session',
    summary: 'The signed-in user, for a proxy',
    description:
      'For the authentication request of a proxy in front of an application: nginx `auth_request`, Traefik `forwardAuth`, Envoy `ext_authz`, Caddy `forward_auth`. No response has a body. It keeps the session alive.',
    cookies: { session: 'required' },
    responses: { 200: { description: 'Signed in.', headers: IDENTITY_HEADERS } },
    withoutBody: true,
  },
} as const satisfies Operations

/** Responds 200 with the user in headers, or 401. `X-Auth-Request-*` headers of the request are ignored. */
export function createForwardAuthRoutes({ sessions, metrics }: ForwardAuthOptions): Route[] {
  const routes = routesOf(FORWARD_AUTH_OPERATIONS, {
    async forwardAuth(req, res) {
      res.set(identityHeaders(await sessions.require(req))).end()
    },
  })
  const onRequest = (req: Request, res: Response) => {
    getRequestContext(req).errorFormat = 'empty'
    res.once('finish', () =>
      metrics.forwardAuthRequests.inc({ result: RESULTS[res.statusCode] ?? 'refused' }),
    )
  }
  return routes.map((route) => ({ ...route, onRequest }))
}

export interface ForwardAuthOptions {
  readonly sessions: Pick<Sessions, 'require'>
  readonly metrics: Metrics
}

function identityHeaders({ userId, login, publicId }: Session): IdentityHeaders {
  return {
    'X-Auth-Request-User': percentEncode(userId),
    'X-Auth-Request-Preferred-Username': percentEncode(login),
    'X-Auth-Request-Session': publicId,
  }
}

/** Leaves no line break, comma or non-ASCII byte that a proxy or an application could misread. */
function percentEncode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD')) // a lone surrogate has no UTF-8
}

type IdentityHeaders = Readonly<Record<(typeof IDENTITY_HEADERS)[number], string>>

const RESULTS: Readonly<Record<number, string>> = {
  200: 'signed_in',
  401: 'no_session',
  409: 'other_session',
  500: 'error',
  503: 'error',
}
