import cors from 'cors'
import type { RequestHandler } from 'express'
import type { ReportOrigin } from './report-origin.ts'

/** What the browser library and other clients ask for in their preflights, and what they must be able to read. */
const REQUEST_HEADERS = [
  'content-type',
  'accept',
  'accept-language',
  'x-okta-user-agent-extended',
  'x-okta-xsrftoken',
  'x-device-fingerprint',
  'x-gatehouse-session',
  'if-none-match',
]
const READABLE_HEADERS = [
  'X-Request-Id',
  'X-Rate-Limit-Limit',
  'X-Rate-Limit-Remaining',
  'X-Rate-Limit-Reset',
  'Retry-After',
  'ETag',
  'Age',
]

export interface CrossOriginParts {
  readonly origins: readonly string[]
  readonly reportOrigin: ReportOrigin
}

/** CORS with credentials for exactly the listed origins (ASVS 3.4.2); any other origin gets no permission at all. */
export function crossOrigin({ origins, reportOrigin }: CrossOriginParts): RequestHandler {
  const permit = cors({
    origin: [...origins],
    credentials: true,
    methods: ['GET', 'HEAD', 'POST', 'DELETE'],
    allowedHeaders: REQUEST_HEADERS,
    exposedHeaders: READABLE_HEADERS,
    maxAge: 600,
  })
  return function crossOrigin(req, res, next) {
    const isPreflight = req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
    res.setHeader('Vary', 'Origin, Sec-Fetch-Site') // what is decided here, and by `refuse-cross-site.ts`
    if (origins.includes(req.headers.origin ?? '')) {
      if (req.method === 'OPTIONS' && !isPreflight) return next() // 405, like any method that is not offered
      return permit(req, res, next)
    }
    if (!isPreflight) return next()
    if (req.headers.origin !== undefined) reportOrigin(req)
    res.status(204).end()
  }
}
