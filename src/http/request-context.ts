import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIPv4, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import { invalidField } from '../errors.ts'
import { createLogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Tracing } from '../observability/tracing.ts'
import type { Guard } from './compose-guards.ts'

export interface RequestContext extends ClientAddress {
  /**
   * In `X-Request-Id`, in the `errorId` of the broker's own errors and in every log line of the
   * request.
   */
  readonly requestId: string
  /** The other end of the connection is a proxy in TRUST_PROXY. */
  readonly isFromProxy: boolean
  /** The code of the error in the response. */
  errorCode?: string
  /** Any client can cause the error, whatever its status (errors.ts). */
  isErrorOfClient?: boolean
  /**
   * The format of errors, if it is not JSON. `empty`: for a proxy that reads only the status and
   * the headers. `page`: for a browser that navigates to the URL, because users must not see JSON.
   */
  errorFormat?: 'empty' | 'page'
  /** The name of the token of a call to `/admin`. undefined: OPS_TOKEN, which has none. */
  operator?: string | undefined
}

declare module 'node:http' {
  interface IncomingMessage {
    /**
     * Not in a WeakMap: V8 collects its entries at a cost that a page view shows. Undefined if Node
     * refused the request.
     */
    context?: RequestContext
  }
}

export function getRequestContext({ context }: IncomingMessage): RequestContext {
  if (context === undefined)
    throw new Error('the request has no context: beginRequest must be the first middleware')
  return context
}

export function setRequestContext(req: IncomingMessage, res: ServerResponse, context: RequestContext): void {
  req.context = context
  res.setHeader('X-Request-Id', context.requestId)
}

export interface Telemetry {
  readonly log: Logger
  readonly metrics: Metrics
  readonly tracing?: Tracing | undefined
}

/**
 * Refuses a request of a trusted proxy without the client's address. With the proxy's address
 * instead, the org's network rules would admit clients that they deny, and all clients would share
 * their limits.
 */
export function refuseUnknownAddress({ log, metrics }: Telemetry): Guard {
  const mayLog = createLogThrottle() // one warning per proxy address
  return function refuseUnknownAddress(req, _res, next) {
    const { address, addressProblem, requestId } = getRequestContext(req)
    if (addressProblem === undefined) return next()
    metrics.requestsRefused.inc({ reason: 'invalid_forwarded_for' })
    if (mayLog(address)) log.warn('invalid_forwarded_for', { requestId, address, reason: addressProblem })
    throw invalidField(CAUSES[addressProblem])
  }
}

const CAUSES: Readonly<Record<AddressProblem, string>> = {
  missing: 'X-Forwarded-For: missing; the proxies in TRUST_PROXY must send it',
  empty: 'X-Forwarded-For: the proxy in TRUST_PROXY added an empty entry',
  malformed: 'X-Forwarded-For: a proxy in TRUST_PROXY added an entry that is not an address',
}

/** Whether an address is in TRUST_PROXY. */
export type IsTrustedProxy = (address: string) => boolean

/**
 * `cidrs` must be valid. Results are cached, because the same addresses recur and parsing them is
 * the most expensive part.
 */
export function createTrustedProxies(cidrs: readonly string[]): IsTrustedProxy {
  if (cidrs.length === 0) return () => false
  const ranges = cidrs.map((cidr) => ipaddr.parseCIDR(cidr))
  const cache = new LRUCache<string, boolean>({ max: MAX_CACHED_ADDRESSES })
  return (address) => {
    const known = cache.get(address)
    if (known !== undefined) return known
    const isTrusted = isWithin(ranges, address)
    cache.set(address, isTrusted)
    return isTrusted
  }
}

const MAX_CACHED_ADDRESSES = 5000

function isWithin(ranges: [ipaddr.IPv4 | ipaddr.IPv6, number][], address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.subnetMatch(ipaddr.process(address), { ranges }, '') === 'ranges'
}

export interface ClientAddress {
  /** The client's normalized address, for Okta, the limits and the logs. */
  readonly address: string
  /** Set if `address` is the proxy's, because the client's is unknown. The request is refused. */
  readonly addressProblem?: AddressProblem
}

export const ADDRESS_PROBLEMS = ['missing', 'empty', 'malformed'] as const
export type AddressProblem = (typeof ADDRESS_PROBLEMS)[number]

/**
 * Reads `X-Forwarded-For` from the right, as long as the hop that added an entry is a trusted
 * proxy. Entries that a client has added are therefore never used. If all entries are trusted
 * proxies, the first one is the client, because a client can run on a proxy's host.
 */
export function clientAddress(
  req: IncomingMessage,
  isFromProxy: boolean,
  isTrusted: IsTrustedProxy,
): ClientAddress {
  const proxy = socketAddress(req.socket)
  if (!isFromProxy) return { address: proxy }
  const header = String(req.headers['x-forwarded-for'] ?? '').trim()
  if (header === '') return { address: proxy, addressProblem: 'missing' }
  // the proxy itself added it: what is left of it may be a client's own
  if (header.endsWith(',')) return { address: proxy, addressProblem: 'empty' }
  const entries = forwardedFor(req)
  for (;;) {
    const address = normalizeAddress(entries.pop() ?? '')
    if (address === undefined) return { address: proxy, addressProblem: 'malformed' }
    if (entries.length === 0 || !isTrusted(address)) return { address }
  }
}

/** The other end of the connection: the proxy, if there is one. */
export function socketAddress({ remoteAddress = '' }: Socket): string {
  return normalizeAddress(remoteAddress) ?? '0.0.0.0'
}

/**
 * The entries of `X-Forwarded-For`. Node joins several header lines into one list (RFC 9110,
 * section 5.3), whose empty elements are ignored (section 5.6.1.2).
 */
export function forwardedFor(req: IncomingMessage): string[] {
  const entries = String(req.headers['x-forwarded-for'] ?? '').split(',')
  return entries.map((entry) => entry.trim()).filter((entry) => entry !== '')
}

/**
 * Converts IPv4-mapped addresses to IPv4, and removes ports (`1.2.3.4:567`, `[::1]:567`) and IPv6
 * zones.
 */
export function normalizeAddress(entry: string): string | undefined {
  if (isIPv4(entry)) return entry
  if (entry === '') return undefined // ipaddr would throw an exception, which is expensive
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
  const address = bare.includes(':') ? bare.replace(/%.*$/, '') : bare
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return undefined
  return ipaddr.process(address).toString()
}

/** A network whose requests are counted together. */
export interface CountedNetwork {
  readonly name: string
  /** The network has this many times the limit of one address. */
  readonly factor: number
}

/**
 * The networks in which limits count a request of this address. A host can use any address of its
 * IPv6 /64, so the whole /64 counts as one address. A home line usually has a /56 and a site a /48
 * (RIPE-690), which are 256 and 65,536 of them: without limits of their own, they would have none.
 */
export function networksForLimits(address: string): readonly [CountedNetwork, ...CountedNetwork[]] {
  if (isIPv4(address) || !ipaddr.isValid(address)) return [{ name: address, factor: 1 }]
  const parsed = ipaddr.process(address)
  const text = parsed.toString()
  if (parsed.kind() === 'ipv4') return [{ name: text, factor: 1 }]
  return [
    { name: networkOf(text, 64), factor: 1 },
    { name: networkOf(text, 56), factor: 3 },
    { name: networkOf(text, 48), factor: 10 },
  ]
}

/** The widest of these networks: one site, whatever its addresses. */
export function siteForLimits(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : networkOf(parsed.toString(), 48)
}

function networkOf(address: string, bits: number): string {
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`
}

/** The smallest of these networks, where one count is enough. */
export function addressForLimits(address: string): string {
  return networksForLimits(address)[0].name
}
