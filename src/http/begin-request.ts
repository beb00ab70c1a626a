import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import helmet from 'helmet'
import { v4 as uuid } from 'uuid'
import {
  clientAddress,
  type IsTrustedProxy,
  type RequestContext,
  setRequestContext,
  type Telemetry,
} from './request-context.ts'
import { closeUnlessRead } from './unread-body.ts'

/**
 * The first middleware: sets the request context, and writes a log line and a metric at the end of
 * the request.
 */
export function beginRequest(
  isTrustedProxy: IsTrustedProxy,
  { log, metrics, tracing }: Telemetry,
): RequestHandler {
  let hasWarned = false
  return function beginRequest(req, res, next) {
    const startedAt = performance.now()
    const isFromProxy = isTrustedProxy(req.socket.remoteAddress ?? '')
    const context = contextFrom(req, isFromProxy, isTrustedProxy)
    const { requestId, address } = context
    const parent = isFromProxy ? TRACEPARENT.exec(String(req.headers.traceparent)) : null
    const span = tracing?.beginRequest(parent?.[0])
    const traceId = span?.traceId ?? parent?.[1]
    if (traceId !== undefined) log.setTrace(requestId, traceId)
    if (!hasWarned && !isFromProxy && req.headers['x-forwarded-for'] !== undefined) {
      hasWarned = true // only once, because any client that connects directly can send the header
      log.warn('untrusted_forwarded_for', { requestId, address })
    }
    setRequestContext(req, res, context)
    closeUnlessRead(req, res)

    res.once('close', () => {
      const durationMs = performance.now() - startedAt
      const { errorCode, isErrorOfClient = false } = context
      const route: string = req.route?.path ?? 'none' // Express sets it
      const method = KNOWN_METHODS.has(req.method) ? req.method : 'other'
      const status = res.writableFinished ? res.statusCode : CLIENT_FAILED
      span?.end({ method, route, status })
      const counted = isErrorOfClient ? CLIENT_FAILED : status
      metrics.httpRequestDuration.observe({ method, route, status: counted }, durationMs / 1000)
      log.info('request', {
        requestId,
        address,
        method,
        route,
        status,
        durationMs: Math.round(durationMs * 10) / 10,
        errorCode,
      })
    })
    if (span === undefined) next()
    else span.run(next)
  }
}

/** As nginx counts clients that went away. */
const CLIENT_FAILED = 499
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'PATCH'])
const REQUEST_ID = /^[\w.:-]{8,128}$/
/** W3C Trace Context. Used only from a trusted proxy. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** A request id in a header is used only if it comes from a trusted proxy and is well-formed. */
function contextFrom(
  req: IncomingMessage,
  isFromProxy: boolean,
  isTrustedProxy: IsTrustedProxy,
): RequestContext {
  const id = req.headers['x-request-id']
  const isValid = isFromProxy && typeof id === 'string' && REQUEST_ID.test(id)
  return { requestId: isValid ? id : uuid(), isFromProxy, ...clientAddress(req, isFromProxy, isTrustedProxy) }
}

/**
 * Security headers of an API without pages: nothing may be loaded, framed or stored. HSTS depends
 * on PUBLIC_URL, not on what a proxy says about the connection (RFC 6797: only over https).
 */
export function setSecurityHeaders({ secure }: { readonly secure: boolean }): RequestHandler {
  const setHelmetHeaders = helmet({
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
    // of use to pages with scripts or links only, or to browsers of long ago
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  })
  return function setSecurityHeaders(req, res, next) {
    res.setHeader('Cache-Control', 'no-store')
    setHelmetHeaders(req, res, next)
  }
}
