import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Express } from 'express'
import helmet from 'helmet'

/**
 * Headers of an API that shows no page: nothing may be loaded, framed or stored. HSTS goes by PUBLIC_URL, not by
 * what a proxy says of the connection (RFC 6797: only over https).
 *
 * Every response of the application gets them as its head is written; those that a route has set itself stay. Set earlier,
 * they would occupy memory until the response is finished, and the garbage collector copies what stays: that cost a tenth
 * of a session check (docs/performance.md).
 */
export function addSecurityHeaders(app: Express, { secure }: { readonly secure: boolean }): void {
  const headers = [['Cache-Control', 'no-store'] as const, ...headersOf(helmetFor(secure))]
  const { writeHead } = ServerResponse.prototype
  // whichever overload is called, its arguments are passed on
  app.response.writeHead = function secured(...args: unknown[]) {
    for (const [name, value] of headers) if (!this.hasHeader(name)) this.setHeader(name, value)
    return Reflect.apply(writeHead, this, args)
  }
}

const helmetFor = (secure: boolean) =>
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
  })

/** What helmet sets: the same for every response. */
function headersOf(middleware: ReturnType<typeof helmet>): [name: string, value: string][] {
  const res = new ServerResponse(new IncomingMessage(new Socket()))
  middleware(res.req, res, (error) => {
    if (error !== undefined) throw error
  })
  return Object.entries(res.getHeaders()).map(([name, value]) => [name, String(value)])
}

/** Answers with JSON. What Express's `json` does beside, charsets, ETags and freshness, no answer of ours needs. */
export function sendJson(res: ServerResponse, body: unknown): void {
  sendJsonText(res, JSON.stringify(body))
}

/** The same with what is JSON already. */
export function sendJsonText(res: ServerResponse, text: string): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.setHeader('Content-Length', Buffer.byteLength(text))
  res.end(text)
}
