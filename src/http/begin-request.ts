import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { v4 as uuid } from 'uuid'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { clientAddress, type TrustedProxies } from './client-address.ts'
import { type RequestContext, setContext } from './request-context.ts'

export interface BeginRequestParts {
  readonly isTrustedProxy: TrustedProxies
  readonly log: Logger
  readonly metrics: Metrics
}

/** First of all: the request's id, the client's address, and one log line and one metric when it is over. */
export function beginRequest({ isTrustedProxy, log, metrics }: BeginRequestParts): RequestHandler {
  let toldOfProxy = false
  return function beginRequest(req, res, next) {
    const startedAt = performance.now()
    const context = contextFrom(req, isTrustedProxy)
    if (
      !toldOfProxy &&
      req.headers['x-forwarded-for'] !== undefined &&
      !comesFromProxy(req, isTrustedProxy)
    ) {
      toldOfProxy = true // once: whoever reaches us directly can send the header all day
      log.warn('forwarded_for_not_heeded', { requestId: context.requestId, address: context.address })
    }
    setContext(req, context)
    res.setHeader('X-Request-Id', context.requestId)

    res.once('close', () => {
      const durationMs = performance.now() - startedAt
      const route = routeOf(req.route)
      const method = methodOf(req)
      const status = res.writableFinished ? res.statusCode : 499 // the client went away
      metrics.httpRequests.observe({ method, route, status }, durationMs / 1000)
      log.info('request', {
        requestId: context.requestId,
        traceId: context.traceId,
        address: context.address,
        method,
        route,
        status,
        durationMs: Math.round(durationMs * 10) / 10,
        errorCode: typeof res.locals.errorCode === 'string' ? res.locals.errorCode : undefined,
      })
    })
    next()
  }
}

const REQUEST_ID = /^[\w.:-]{8,128}$/
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Ids from outside are taken over only from a trusted proxy and when well-formed. */
function contextFrom(req: IncomingMessage, isTrustedProxy: TrustedProxies): RequestContext {
  const fromProxy = comesFromProxy(req, isTrustedProxy)
  const requestId = fromProxy ? wellFormed(req.headers['x-request-id'], REQUEST_ID) : undefined
  const traceparent = fromProxy ? wellFormed(req.headers.traceparent, TRACEPARENT) : undefined
  const { address, problem } = clientAddress(req, isTrustedProxy)
  return {
    requestId: requestId ?? uuid(),
    traceId: traceparent?.slice(3, 35),
    address,
    addressProblem: problem,
  }
}

function comesFromProxy(req: IncomingMessage, isTrustedProxy: TrustedProxies): boolean {
  return isTrustedProxy(req.socket.remoteAddress ?? '')
}

function wellFormed(value: unknown, form: RegExp): string | undefined {
  return typeof value === 'string' && form.test(value) ? value : undefined
}

/** The template of the route that was met; a path that met none must not become a label or a log field. */
function routeOf(route: unknown): string {
  if (typeof route !== 'object' || route === null || !('path' in route)) return 'none'
  return typeof route.path === 'string' ? route.path : 'none'
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'PATCH'])

function methodOf(req: IncomingMessage): string {
  return KNOWN_METHODS.has(req.method ?? '') ? String(req.method) : 'other'
}
