import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIPv4, type Socket } from 'node:net'
import type { RequestHandler } from 'express'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { v4 as uuid } from 'uuid'
import { invalidField } from '../errors.ts'
import { createLogThrottle, type LogThrottleOptions } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'

/** What is known of a request before it is routed. */
export interface RequestContext extends ClientAddress {
  /** In `X-Request-Id`, in the `errorId` of our own errors and in every log line of the request. */
  readonly requestId: string
  /** The path of its route, for logs and metrics; undefined unless it is routed. */
  route?: string
  /** Of the error that it is answered with. */
  errorCode?: string
}

const contexts = new WeakMap<IncomingMessage, RequestContext>()

/** Undefined for a request that Node refused before any middleware. */
export function findRequestContext(req: IncomingMessage): RequestContext | undefined {
  return contexts.get(req)
}

export function getRequestContext(req: IncomingMessage): RequestContext {
  const context = findRequestContext(req)
  if (context === undefined) throw new Error('the request context is set before any route runs')
  return context
}

export function setRequestContext(req: IncomingMessage, res: ServerResponse, context: RequestContext): void {
  contexts.set(req, context)
  res.setHeader('X-Request-Id', context.requestId)
}

/** Where requests are logged and measured. */
export interface Telemetry {
  readonly log: Logger
  readonly metrics: Metrics
}

export interface BeginRequestOptions extends Telemetry {
  readonly isTrustedProxy: IsTrustedProxy
}

/** The first middleware: sets the request's context; writes one log line and one measurement when it is over. */
export function beginRequest({ isTrustedProxy, log, metrics }: BeginRequestOptions): RequestHandler {
  let hasWarned = false
  return function beginRequest(req, res, next) {
    const startedAt = performance.now()
    const isFromProxy = isTrustedProxy(req.socket.remoteAddress ?? '')
    const context = contextFrom(req, isFromProxy, isTrustedProxy)
    const { requestId, address } = context
    const traceId = isFromProxy ? TRACEPARENT.exec(String(req.headers.traceparent))?.[1] : undefined
    if (traceId !== undefined) log.setTrace(requestId, traceId)
    if (!hasWarned && !isFromProxy && req.headers['x-forwarded-for'] !== undefined) {
      hasWarned = true // once: any client that connects directly can send the header all day
      log.warn('untrusted_forwarded_for', { requestId, address })
    }
    setRequestContext(req, res, context)

    res.once('close', () => {
      const durationMs = performance.now() - startedAt
      const { route = 'none', errorCode } = context
      const method = KNOWN_METHODS.has(req.method) ? req.method : 'other'
      const status = res.writableFinished ? res.statusCode : 499 // the client went away
      metrics.httpRequestDuration.observe({ method, route, status }, durationMs / 1000)
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
    next()
  }
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'PATCH'])
const REQUEST_ID = /^[\w.:-]{8,128}$/
/** W3C Trace Context. Like a request id, it is used only from a trusted proxy. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** A request id from outside is used only if a trusted proxy sent it and it is well-formed. */
function contextFrom(
  req: IncomingMessage,
  isFromProxy: boolean,
  isTrustedProxy: IsTrustedProxy,
): RequestContext {
  const id = req.headers['x-request-id']
  const isValid = isFromProxy && typeof id === 'string' && REQUEST_ID.test(id)
  return { requestId: isValid ? id : uuid(), ...clientAddress(req, isTrustedProxy) }
}

export interface RefuseUnknownAddressOptions extends Telemetry {
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
    const { address, addressProblem, requestId } = getRequestContext(req)
    if (addressProblem === undefined) return next()
    metrics.requestsRefused.inc({ reason: 'invalid_forwarded_for' })
    if (mayLog(address)) log.warn('invalid_forwarded_for', { requestId, address, reason: addressProblem })
    throw invalidField(CAUSES[addressProblem])
  }
}

const CAUSES: Readonly<Record<AddressProblem, string>> = {
  missing: 'X-Forwarded-For: missing; a proxy of TRUST_PROXY must send it',
  malformed: 'X-Forwarded-For: a proxy of TRUST_PROXY wrote an entry that is not an address',
}

/** Whether an address is a proxy's of TRUST_PROXY. */
export type IsTrustedProxy = (address: string) => boolean

/**
 * `cidrs` have been checked by the configuration. Results are remembered: the same proxies and clients come again and
 * again, and parsing an address costs more than everything else that is done with it.
 */
export function createTrustedProxies(cidrs: readonly string[]): IsTrustedProxy {
  const ranges = cidrs.map((cidr) => ipaddr.parseCIDR(cidr))
  const known = new LRUCache<string, boolean>({ max: MAX_REMEMBERED })
  return (address) => {
    const isTrusted = known.get(address) ?? isWithin(ranges, address)
    known.set(address, isTrusted)
    return isTrusted
  }
}

const MAX_REMEMBERED = 5000

function isWithin(ranges: [ipaddr.IPv4 | ipaddr.IPv6, number][], address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.subnetMatch(ipaddr.process(address), { ranges }, '') === 'ranges'
}

export interface ClientAddress {
  /** The client's one clean address: for the upstream, the limits and the logs. */
  readonly address: string
  /** Why `address` is the proxy's instead; such a request is refused. */
  readonly addressProblem?: AddressProblem
}

/** What is wrong with the `X-Forwarded-For` of a trusted proxy. */
export type AddressProblem = 'missing' | 'malformed'

/**
 * The client's one clean address: `X-Forwarded-For` is walked from the right, and only as long as the hop that wrote an
 * entry is a trusted proxy. What a client writes into the header is never reached.
 *
 * A trusted proxy that sends no entry, or one that is not an address, leaves the client's address unknown: its own must
 * not stand in for it, because the org and the limits would take every client for the proxy. If all entries are trusted
 * proxies, the first one is the client: a proxy's machine may be one.
 */
export function clientAddress(req: IncomingMessage, isTrusted: IsTrustedProxy): ClientAddress {
  const proxy = socketAddress(req.socket)
  if (!isTrusted(proxy)) return { address: proxy }
  const entries = forwardedFor(req)
  if (entries.length === 0) return { address: proxy, addressProblem: 'missing' }
  let address = proxy
  while (entries.length > 0 && isTrusted(address)) {
    const next = cleanAddress(entries.pop() ?? '')
    if (next === undefined) return { address: proxy, addressProblem: 'malformed' }
    address = next
  }
  return { address }
}

/** The peer of the connection: the proxy, if there is one. */
export function socketAddress({ remoteAddress = '' }: Socket): string {
  return cleanAddress(remoteAddress) ?? '0.0.0.0'
}

/** Several lines are one list (RFC 9110, section 5.3): Node joins them. A list without text has no entries. */
function forwardedFor(req: IncomingMessage): string[] {
  const text = String(req.headers['x-forwarded-for'] ?? '').trim()
  return text === '' ? [] : text.split(',').map((entry) => entry.trim())
}

/** IPv4-mapped addresses become IPv4; `1.2.3.4:567` and `[::1]:567` lose their ports, IPv6 its zone. */
function cleanAddress(entry: string): string | undefined {
  if (isIPv4(entry)) return entry
  if (entry === '') return undefined // ipaddr would throw, which costs more than the whole walk
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
  const address = bare.includes(':') ? bare.replace(/%.*$/, '') : bare
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return undefined
  return ipaddr.process(address).toString()
}

/**
 * How limits count an address. A household or a host has a whole /64 of IPv6 addresses to choose from (RFC 6177), so all
 * of it counts as one; an IPv4-mapped address is the IPv4 one.
 */
export function addressForLimits(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()}/64`
}
