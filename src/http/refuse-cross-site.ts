import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { notAllowed } from '../errors.ts'
import type { Metrics } from '../observability/metrics.ts'

export interface RefuseCrossSiteParts {
  /** PUBLIC_URL's origin and ALLOWED_ORIGINS. */
  readonly origins: readonly string[]
  readonly bearsSessionCookie: (req: IncomingMessage) => boolean
  readonly onRefused: (req: IncomingMessage) => void
  readonly metrics: Metrics
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
const OWN_SITE = new Set<unknown>(['same-origin', 'none'])
const MAX_SHOWN = 100

/**
 * Cross-site requests (DESIGN §4; OWASP CSRF cheat sheet): for unsafe methods, signing in among them, the browser
 * must say that the request is our own page's, or name an allowed origin. A refusal says which header and which
 * setting it was, for the portal team that meets it first.
 */
export function refuseCrossSite({
  origins,
  bearsSessionCookie,
  onRefused,
  metrics,
}: RefuseCrossSiteParts): RequestHandler {
  const allowed = new Set<unknown>(origins)
  const refused = (req: IncomingMessage, cause: string) => {
    metrics.refusals.inc({ reason: 'cross_site' })
    onRefused(req)
    return notAllowed(cause)
  }

  return function refuseCrossSite(req, _res, next) {
    if (SAFE_METHODS.has(req.method)) return next()
    const site = req.headers['sec-fetch-site']
    const { origin } = req.headers
    if (OWN_SITE.has(site)) return next()
    if (origin !== undefined) {
      if (allowed.has(origin)) return next()
      throw refused(req, `Origin: ${shown(origin)} is neither PUBLIC_URL nor one of ALLOWED_ORIGINS`)
    }
    if (site !== undefined)
      throw refused(req, `Sec-Fetch-Site: ${shown(String(site))} without an Origin header`)
    if (bearsSessionCookie(req))
      throw refused(req, 'Origin: missing, and Sec-Fetch-Site too, on a request with a session cookie')
    next()
  }
}

/** The caller's own header, cut short and without anything that is not visible ASCII. */
export function shown(value: string): string {
  return value.replace(/[^\x21-\x7e]/g, '?').slice(0, MAX_SHOWN)
}
