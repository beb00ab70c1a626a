import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { v4 as uuid } from 'uuid'
import { invalidField } from '../errors.ts'
import { createLogThrottle, type LogThrottleOptions } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import {
  type AddressProblem,
  type ClientAddress,
  clientAddress,
  type TrustedProxies,
} from './client-address.ts'

/** What is known of a request before it is routed. */
export interface RequestContext extends ClientAddress {
  /** In `X-Request-Id`, in the `errorId` of our own errors and in every log line of the request. */
  readonly requestId: string
  /** W3C trace id, if a trusted proxy sent a well-formed `traceparent`. */
  readonly traceId?: string | undefined
  /** The path of its route, for logs and metrics; undefined unless it is routed. */
  route?: string
  /** Of the error that it is answered with. */
  errorCode?: string
}

const contexts = new WeakMap<IncomingMessage, RequestContext>()

/** Undefined for a request that Node refused before any middleware. */
export function contextIfBegun(req: IncomingMessage): RequestContext | undefined {
  return contexts.get(req)
}

export function contextOf(req: IncomingMessage): RequestContext {
  const context = contextIfBegun(req)
  if (context === undefined) throw new Error('the request context is set before any route runs')
  return context
}

export function setContext(req: IncomingMessage, res: ServerResponse, context: RequestContext): void {
  contexts.set(req, context)
  res.setHeader('X-Request-Id', context.requestId)
}

/** Where requests are logged and measured. */
export interface RequestRecords {
  readonly log: Logger
  readonly metrics: Metrics
}

export interface BeginRequestOptions extends RequestRecords {
  readonly isTrustedProxy: TrustedProxies
}

/** The first middleware: sets the request's context; writes one log line and one measurement when it is over. */
export function beginRequest({ isTrustedProxy, log, metrics }: BeginRequestOptions): RequestHandler {
  let hasWarned = false
  return function beginRequest(req, res, next) {
    const startedAt = performance.now()
    const isFromProxy = isTrustedProxy(req.socket.remoteAddress ?? '')
    const context = contextFrom(req, isFromProxy, isTrustedProxy)
    const { requestId, traceId, address } = context
    if (!hasWarned && !isFromProxy && req.headers['x-forwarded-for'] !== undefined) {
      hasWarned = true // once: any client that connects directly can send the header all day
      log.warn('forwarded_for_not_heeded', { requestId, address })
    }
    setContext(req, res, context)

    res.once('close', () => {
      const durationMs = performance.now() - startedAt
      const { route = 'none', errorCode } = context
      const method = KNOWN_METHODS.has(req.method) ? req.method : 'other'
      const status = res.writableFinished ? res.statusCode : 499 // the client went away
      metrics.httpRequests.observe({ method, route, status }, durationMs / 1000)
      log.info('request', {
        requestId,
        traceId,
        address,
        method,
        route,
        status,
        durationMs: Math.round(durationMs * 10) / 10,
        errorCode,
      })
    })
    next()
  }
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'PATCH'])
const REQUEST_ID = /^[\w.:-]{8,128}$/
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Ids from outside are used only if a trusted proxy sent them and they are well-formed. */
function contextFrom(
  req: IncomingMessage,
  isFromProxy: boolean,
  isTrustedProxy: TrustedProxies,
): RequestContext {
  const idIn = (value: unknown, form: RegExp) =>
    isFromProxy && typeof value === 'string' && form.test(value) ? value : undefined
  return {
    requestId: idIn(req.headers['x-request-id'], REQUEST_ID) ?? uuid(),
    traceId: idIn(req.headers.traceparent, TRACEPARENT)?.slice(3, 35),
    ...clientAddress(req, isTrustedProxy),
  }
}

export interface RefuseUnknownAddressOptions extends RequestRecords {
  /** One line for each proxy's address. */
  readonly logThrottle: LogThrottleOptions
}

/**
 * Refuses a trusted proxy's request that does not say which client it is for (DESIGN §4, "Client context"). With the
 * proxy's address instead, the org's network rules would let in clients that they deny, and all clients would share
 * their limits.
 */
export function refuseUnknownAddress(options: RefuseUnknownAddressOptions): RequestHandler {
  const { logThrottle, log, metrics } = options
  const mayLog = createLogThrottle(logThrottle)
  return function refuseUnknownAddress(req, _res, next) {
    const { address, addressProblem, requestId } = contextOf(req)
    if (addressProblem === undefined) return next()
    metrics.refusals.inc({ reason: 'no_forwarded_for' })
    if (mayLog(address)) log.warn('no_forwarded_for', { requestId, address, reason: addressProblem })
    throw invalidField(CAUSES[addressProblem])
  }
}

const CAUSES: Readonly<Record<AddressProblem, string>> = {
  missing: 'X-Forwarded-For: missing; a proxy of TRUST_PROXY must send it',
  unreadable: 'X-Forwarded-For: a proxy of TRUST_PROXY wrote an entry that is not an address',
}
