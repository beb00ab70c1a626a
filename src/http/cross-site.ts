import type { IncomingMessage } from 'node:http'
import cors from 'cors'
import type { Request, RequestHandler } from 'express'
import { notAllowed } from '../errors.ts'
import { createLogThrottle, type LogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import { getRequestContext, type Telemetry } from './request-context.ts'

export interface CrossSiteOptions extends Telemetry {
  /** PUBLIC_URL's origin and ALLOWED_ORIGINS. */
  readonly origins: readonly string[]
  /** ALLOWED_HEADERS. */
  readonly headers: readonly string[]
  readonly sessionCookie: { readonly isPresent: (req: IncomingMessage) => boolean }
}

/**
 * Protection against cross-site requests (OWASP CSRF cheat sheet): the browser's headers must say
 * that the page is of the same origin, or name an allowed origin. A refusal names the header and
 * the setting, for the portal's developers.
 */
export function createCrossSiteRules(options: CrossSiteOptions) {
  const { origins, sessionCookie, log, metrics } = options
  const allowed = new Set<unknown>(origins)
  const warnOfOrigin = createOriginWarning(log, createLogThrottle())
  const auditRefusal = createRefusalAudit(log, createLogThrottle(AUDIT_THROTTLE))

  const refuse = (req: Request): never => {
    metrics.requestsRefused.inc({ reason: 'cross_site' })
    auditRefusal(req)
    warnOfOrigin(req)
    throw notAllowed(causeOf(req))
  }

  const checkRead = (req: Request, sites: ReadonlySet<unknown>) => {
    const { origin, 'sec-fetch-site': site } = req.headers
    if (allowed.has(origin)) return
    if (site !== undefined && !sites.has(site)) refuse(req)
    warnOfOrigin(req) // the browser will not show the response to the page
  }

  return {
    allowOrigins: allowOrigins(options, warnOfOrigin),
    /**
     * Refuses cross-site requests with unsafe methods, sign-in included. Must run before the body
     * is read.
     */
    refuseUnsafe: function refuseUnsafe(req: Request, _res: unknown, next: () => unknown) {
      const { origin, 'sec-fetch-site': site } = req.headers
      if (SAFE_METHODS.has(req.method) || OWN_SITE.has(site) || allowed.has(origin)) return next()
      if (origin !== undefined || site !== undefined || sessionCookie.isPresent(req)) refuse(req)
      return next()
    },

    /** A site that may not read a GET route cannot cause its side effects either. */
    refuseReads: function refuseReads(req: Request, _res: unknown, next: () => unknown) {
      checkRead(req, OWN_SITE)
      return next()
    },

    /** As `refuseReads`, for images: pages of the same site may show them. */
    refuseImageReads: function refuseImageReads(req: Request, _res: unknown, next: () => unknown) {
      checkRead(req, SAME_SITE)
      return next()
    },
  }
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
/** Values of `Sec-Fetch-Site`. */
const OWN_SITE = new Set<unknown>(['same-origin', 'none'])
const SAME_SITE = new Set<unknown>([...OWN_SITE, 'same-site'])

/** CORS with credentials for exactly the listed origins (ASVS 3.4.2). */
function allowOrigins(
  { origins, headers }: CrossSiteOptions,
  warnOfOrigin: (req: Request) => void,
): RequestHandler {
  const allowedHeaders = [...CORS.allowedHeaders, ...headers]
  const permit = cors({ ...CORS, allowedHeaders, origin: [...origins] })
  return function allowOrigins(req, res, next) {
    const isPreflight = req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
    res.setHeader('Vary', 'Origin, Sec-Fetch-Site')
    if (origins.includes(req.headers.origin ?? '')) {
      // 405, like any other unlisted method
      if (req.method === 'OPTIONS' && !isPreflight) return next()
      return permit(req, res, next)
    }
    if (!isPreflight) return next()
    warnOfOrigin(req)
    res.status(204).end()
  }
}

const CORS = {
  credentials: true,
  methods: ['GET', 'HEAD', 'POST', 'DELETE'],
  /** Sent by Okta's browser library and other clients. */
  allowedHeaders: [
    'content-type',
    'accept',
    'accept-language',
    'x-okta-user-agent-extended',
    'x-okta-xsrftoken',
    'x-device-fingerprint',
    'x-gatehouse-session',
    'if-none-match',
  ],
  exposedHeaders: [
    'X-Request-Id',
    'X-Rate-Limit-Limit',
    'X-Rate-Limit-Remaining',
    'X-Rate-Limit-Reset',
    'Retry-After',
    'ETag',
    'Age',
    'X-Gatehouse-Sign-Out',
    'Date', // for pages that count down to the end of the session
  ],
  maxAge: 600,
}

/** Warns of a page whose origin is not allowed. Usually, ALLOWED_ORIGINS is incomplete. */
function createOriginWarning(log: Logger, mayLog: LogThrottle): (req: IncomingMessage) => void {
  return (req) => {
    if (req.headers.origin === undefined) return
    const origin = printable(req.headers.origin)
    if (!mayLog(origin)) return
    log.warn('origin_not_allowed', {
      requestId: getRequestContext(req).requestId,
      origin,
      reason: 'neither PUBLIC_URL nor one of ALLOWED_ORIGINS',
    })
  }
}

/**
 * Limits lines that any client can cause: one per address and origin, and `maxLines` in total, in
 * each period.
 */
const AUDIT_THROTTLE = { periodMs: 60_000, maxLines: 60 }

/** Refusals beyond the limit are only counted, in `gatehouse_requests_refused_total`. */
function createRefusalAudit(log: Logger, mayLog: LogThrottle): (req: IncomingMessage) => void {
  return (req) => {
    const { requestId, address } = getRequestContext(req)
    const origin = req.headers.origin === undefined ? undefined : printable(req.headers.origin)
    if (!mayLog(`${address} ${origin}`)) return
    const reason = origin === undefined ? 'origin_missing' : 'origin_not_allowed'
    log.audit('cross_site_refused', { requestId, address, method: req.method ?? '', origin, reason })
  }
}

function causeOf({ headers }: IncomingMessage): string {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined)
    return `Origin: ${printable(origin)} is neither PUBLIC_URL nor one of ALLOWED_ORIGINS`
  if (site !== undefined) return `Sec-Fetch-Site: ${printable(String(site))} without an Origin header`
  return 'Origin: a request with a session cookie needs an Origin or Sec-Fetch-Site header'
}

const MAX_PRINTED_LENGTH = 100

/** Shortens a header of the request, and replaces everything but visible ASCII. */
function printable(value: string): string {
  return value.replace(/[^\x21-\x7e]/g, '?').slice(0, MAX_PRINTED_LENGTH)
}
