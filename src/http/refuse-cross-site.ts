import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { notAllowed } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'
import { type ReportOrigin, shown } from './report-origin.ts'
import type { Route } from './routes.ts'

export interface CrossSiteParts {
  /** PUBLIC_URL's origin and ALLOWED_ORIGINS. */
  readonly origins: readonly string[]
  readonly bearsSessionCookie: (req: IncomingMessage) => boolean
  readonly reportOrigin: ReportOrigin
  readonly onRefused: (req: IncomingMessage) => void
  readonly metrics: Metrics
}

export interface CrossSiteRules {
  /** For unsafe methods, signing in among them: comes before the body is read. */
  readonly refuseUnsafe: RequestHandler
  /** The same routes; a GET does nothing for a site that it does not serve (`Route.getFrom`). */
  guardReads(routes: readonly Route[]): Route[]
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
const OWN_SITE = new Set<unknown>(['same-origin', 'none'])
/** The values of `Sec-Fetch-Site` that a GET needs no allowed `Origin` for. */
const READ_FROM = {
  'own-origin': OWN_SITE,
  'same-site': new Set<unknown>([...OWN_SITE, 'same-site']),
} as const

/**
 * Cross-site requests (DESIGN §4; OWASP CSRF cheat sheet): the browser must say that the request is our own page's, or
 * name an allowed origin. A refusal says which header and which setting it was, for the portal team that meets it first.
 */
export function createCrossSiteRules(parts: CrossSiteParts): CrossSiteRules {
  const { origins, bearsSessionCookie, reportOrigin, onRefused, metrics } = parts
  const allowed = new Set<unknown>(origins)

  return {
    refuseUnsafe: function refuseUnsafe(req, _res, next) {
      if (SAFE_METHODS.has(req.method)) return next()
      if (OWN_SITE.has(req.headers['sec-fetch-site'])) return next()
      if (allowed.has(req.headers.origin)) return next()
      if (namesSender(req) || bearsSessionCookie(req)) refuse(req)
      next()
    },

    guardReads: (routes) =>
      routes.map((route) => {
        if (route.method !== 'GET' || route.getFrom === 'any-site') return route
        const sites = READ_FROM[route.getFrom ?? 'own-origin']
        return {
          ...route,
          handle(req, res) {
            refuseRead(req, sites)
            return route.handle(req, res)
          },
        }
      }),
  }

  function refuseRead(req: IncomingMessage, sites: ReadonlySet<unknown>): void {
    const { origin, 'sec-fetch-site': site } = req.headers
    if (allowed.has(origin)) return
    if (site !== undefined && !sites.has(site)) refuse(req)
    if (origin !== undefined) reportOrigin(req) // the browser will keep the answer from that page
  }

  function refuse(req: IncomingMessage): never {
    metrics.refusals.inc({ reason: 'cross_site' })
    onRefused(req)
    if (req.headers.origin !== undefined) reportOrigin(req)
    throw notAllowed(causeOf(req))
  }
}

function namesSender({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined
}

function causeOf({ headers }: IncomingMessage): string {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined) return `Origin: ${shown(origin)} is neither PUBLIC_URL nor one of ALLOWED_ORIGINS`
  if (site !== undefined) return `Sec-Fetch-Site: ${shown(String(site))} without an Origin header`
  return 'Origin: missing, and Sec-Fetch-Site too, on a request with a session cookie'
}
