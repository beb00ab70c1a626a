import type { IncomingHttpHeaders } from 'node:http'
import type { Request, RequestHandler } from 'express'
import { createProxyServer } from 'httpxy'

/**
 * The headers that Gatehouse reads. All others are dropped, such as request ids and addresses that
 * a client made up.
 */
const FORWARDED = [
  'accept',
  'accept-language',
  'content-length',
  'content-type',
  'if-none-match',
  'transfer-encoding',
  'user-agent',
  'x-device-fingerprint',
  'x-gatehouse-session',
  // with these, Gatehouse refuses requests of other sites
  'origin',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'sec-fetch-user',
]
/** More than Gatehouse waits for Okta. */
const TIMEOUT_MS = 60_000

/** Gatehouse gave no usable answer. This does not mean that the user is signed out. */
export class GatehouseUnavailable extends Error {}

/** Passes requests of the browser on to Gatehouse, with its answers and their cookies. */
export function createGatehouseProxy(gatehouseUrl: string): RequestHandler {
  const proxy = createProxyServer({ target: gatehouseUrl, proxyTimeout: TIMEOUT_MS })
  return (req, res, next) => {
    // before the proxy reads them: it has no hook that sees every request
    req.headers = forwardedHeaders(req)
    proxy.web(req, res).catch((cause: unknown) => next(new GatehouseUnavailable('no answer', { cause })))
  }
}

function forwardedHeaders(req: Request): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = { ...gatehouseHeaders(req), host: req.headers.host }
  for (const name of FORWARDED) if (req.headers[name] !== undefined) headers[name] = req.headers[name]
  return headers
}

/**
 * The headers that every request to Gatehouse needs. The address replaces what the client sent in
 * `X-Forwarded-For`; `TRUST_PROXY` of Gatehouse must name the address of this server.
 */
export function gatehouseHeaders(req: Request): Record<string, string> {
  const cookies = (req.headers.cookie ?? '').split('; ')
  const own = cookies.filter((cookie) => /^(__Host-)?gatehouse(-device)?=/.test(cookie))
  return { 'x-forwarded-for': req.ip ?? '', ...(own.length > 0 && { cookie: own.join('; ') }) }
}
