import type { IncomingMessage } from 'node:http'
import { isIPv4, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

/** Proxies whose word we take, as CIDRs; see TRUST_PROXY. */
export type TrustedProxies = (address: string) => boolean

/**
 * `cidrs` have been checked by the configuration. Verdicts are remembered: the same proxies and clients come again and
 * again, and parsing an address costs more than everything else that is done with it.
 */
export function trustProxies(cidrs: readonly string[]): TrustedProxies {
  const ranges = cidrs.map((cidr) => ipaddr.parseCIDR(cidr))
  const known = new LRUCache<string, boolean>({ max: MAX_REMEMBERED })
  return (address) => {
    const verdict = known.get(address) ?? isWithin(ranges, address)
    known.set(address, verdict)
    return verdict
  }
}

const MAX_REMEMBERED = 5000

function isWithin(ranges: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][], address: string): boolean {
  const parsed = ipaddr.isValid(address) ? ipaddr.process(address) : undefined
  return (
    parsed !== undefined &&
    ranges.some(([net, bits]) => net.kind() === parsed.kind() && parsed.match(net, bits))
  )
}

export interface ClientAddress {
  /** The client's; the proxy's where `problem` says that the client's is not known. */
  readonly address: string
  readonly problem: AddressProblem | undefined
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
  if (!isTrusted(proxy)) return { address: proxy, problem: undefined }
  const entries = forwardedFor(req)
  if (entries.length === 0) return { address: proxy, problem: 'missing' }
  let address = proxy
  while (entries.length > 0 && isTrusted(address)) {
    const next = cleanAddress(entries.pop() ?? '')
    if (next === undefined) return { address: proxy, problem: 'unreadable' }
    address = next
  }
  return { address, problem: undefined }
}

/** Who is at the other end of the connection: the proxy, where there is one. */
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
  if (entry === '') return undefined // ipaddr would say so by throwing, which costs more than the whole walk
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
  const address = bare.includes(':') ? bare.replace(/%.*$/, '') : bare
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return undefined
  return ipaddr.process(address).toString()
}
