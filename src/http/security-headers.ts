import type { RequestHandler } from 'express'
import helmet from 'helmet'

/**
 * Headers of an API that shows no page: nothing may be loaded, framed or stored. HSTS goes by PUBLIC_URL, not by
 * what a proxy says of the connection (RFC 6797: only over https).
 */
export function securityHeaders({ secure }: { secure: boolean }): RequestHandler {
  const headers = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'frame-ancestors': ["'none'"],
        'base-uri': ["'none'"],
        'form-action': ["'none'"],
      },
    },
    strictTransportSecurity: secure ? { maxAge: 31_536_000, includeSubDomains: false } : false,
    referrerPolicy: { policy: 'no-referrer' },
    frameguard: { action: 'deny' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
  })
  return function securityHeaders(req, res, next) {
    res.setHeader('Cache-Control', 'no-store')
    headers(req, res, next)
  }
}
