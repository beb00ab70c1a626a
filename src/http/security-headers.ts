import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { RequestHandler } from 'express'
import helmet from 'helmet'

/**
 * Headers of an API that shows no page: nothing may be loaded, framed or stored. HSTS goes by PUBLIC_URL, not by
 * what a proxy says of the connection (RFC 6797: only over https).
 */
export function securityHeaders({ secure }: { secure: boolean }): RequestHandler {
  const headers = [
    ['Cache-Control', 'no-store'],
    ...headersOf(
      helmet({
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
      }),
    ),
  ] as const
  return function securityHeaders(_req, res, next) {
    for (const [name, value] of headers) res.setHeader(name, value)
    next()
  }
}

type Helmet = ReturnType<typeof helmet>

/**
 * What helmet sets, asked once: it is the same for every answer, and its thirteen middlewares one within the other took
 * a tenth of a session check (docs/performance.md).
 */
function headersOf(middleware: Helmet): [name: string, value: string][] {
  const set: [string, string][] = []
  const res = new ServerResponse(new IncomingMessage(new Socket()))
  res.setHeader = (name, value) => {
    set.push([name, String(value)])
    return res
  }
  middleware(res.req, res, (error) => {
    if (error !== undefined) throw error
  })
  if (set.length === 0) throw new Error('helmet set no headers')
  return set
}
