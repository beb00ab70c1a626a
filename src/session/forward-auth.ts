import type { RequestHandler } from 'express'
import { invalidField } from '../errors.ts'
import { getRequestContext } from '../http/request-context.ts'
import { type Operations, type Route, routesOf } from '../http/routes.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

/** The proxy passes them to the application, and must remove them from the client's request. */
export const IDENTITY_HEADERS = [
  'X-Auth-Request-User',
  'X-Auth-Request-Preferred-Username',
  'X-Auth-Request-Session',
] as const

export const FORWARD_AUTH_OPERATIONS = {
  forwardAuth: { method: 'GET', path: '/forward-auth', readableFrom: 'any-site' },
} as const satisfies Operations

/**
 * Responds 200 with the user in headers, or 401. `X-Auth-Request-*` headers of the request are ignored. There are no query parameters: any
 * query is refused, because a rule that has no effect must not grant access.
 */
export function createForwardAuthRoutes({
  sessions,
}: {
  readonly sessions: Pick<Sessions, 'require'>
}): Route[] {
  return routesOf(FORWARD_AUTH_OPERATIONS, {
    async forwardAuth(req, res) {
      const [parameter] = Object.keys(req.query)
      if (parameter !== undefined) throw invalidField(`${parameter}: unknown parameter`)
      res.set(identityHeaders(await sessions.require(req))).end()
    },
  })
}

/** For every request of the path, before any check: errors have no body, and all results are counted. */
export function beginForwardAuth(metrics: Metrics): RequestHandler {
  return function beginForwardAuth(req, res, next) {
    getRequestContext(req).errorFormat = 'empty'
    res.once('finish', () =>
      metrics.forwardAuthRequests.inc({ result: RESULTS[res.statusCode] ?? 'refused' }),
    )
    next()
  }
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
  return encodeURIComponent(text.toWellFormed()) // a lone surrogate has no UTF-8
}

type IdentityHeaders = Readonly<Record<(typeof IDENTITY_HEADERS)[number], string>>

const RESULTS: Readonly<Record<number, string>> = {
  200: 'signed_in',
  401: 'no_session',
  409: 'other_session',
  500: 'error',
  503: 'error',
}
