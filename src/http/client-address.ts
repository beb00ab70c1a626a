import type { IncomingMessage } from 'node:http'
import { isIPv4, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** Whether an address is a proxy's of TRUST_PROXY. */
export type TrustedProxies = (address: string) => boolean

/**
 * `cidrs` have been checked by the configuration. Results are remembered: the same proxies and clients come again and
 * again, and parsing an address costs more than everything else that is done with it.
 */
export function trustProxies(cidrs: readonly string[]): TrustedProxies {
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
export type AddressProblem = 'missing' | 'unreadable'

/**
 * The client's one clean address: `X-Forwarded-For` is walked from the right, and only as long as the hop that wrote an
 * entry is a trusted proxy. What a client writes into the header is never reached.
 *
 * A trusted proxy that sends no entry, or one that is not an address, leaves the client's address unknown: its own must
 * not stand in for it, because the org and the limits would take every client for the proxy. If all entries are trusted
 * proxies, the first one is the client: a proxy's machine may be one.
 */
export function clientAddress(req: IncomingMessage, isTrusted: TrustedProxies): ClientAddress {
  const proxy = socketAddress(req.socket)
  if (!isTrusted(proxy)) return { address: proxy }
  const entries = forwardedFor(req)
  if (entries.length === 0) return { address: proxy, addressProblem: 'missing' }
  let address = proxy
  while (entries.length > 0 && isTrusted(address)) {
    const next = cleanAddress(entries.pop() ?? '')
    if (next === undefined) return { address: proxy, addressProblem: 'unreadable' }
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
export function countedAddress(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()}/64`
}
