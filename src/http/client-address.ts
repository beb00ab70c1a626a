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
  const ranges = cidrs.map((cidr) => (cidr.includes('/') ? ipaddr.parseCIDR(cidr) : singleAddress(cidr)))
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

/**
 * The client's one clean address: `X-Forwarded-For` is walked from the right, and only as long as the hop that
 * wrote an entry is a trusted proxy. What an end user writes into the header is never reached, and an entry
 * that is no address ends the walk at the last address we can stand for.
 */
export function clientAddress(req: IncomingMessage, isTrusted: TrustedProxies): string {
  let address = socketAddress(req.socket)
  const entries = forwardedFor(req)
  while (isTrusted(address)) {
    const next = cleanAddress(entries.pop() ?? '')
    if (next === undefined) break
    address = next
  }
  return address
}

/** Who is at the other end of the connection: the proxy, where there is one. */
export function socketAddress({ remoteAddress = '' }: Socket): string {
  return cleanAddress(remoteAddress) ?? '0.0.0.0'
}

function forwardedFor(req: IncomingMessage): string[] {
  const header = req.headers['x-forwarded-for']
  const text = Array.isArray(header) ? header.join(',') : (header ?? '')
  return text.split(',').map((entry) => entry.trim())
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

function singleAddress(address: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const parsed = ipaddr.process(address)
  return [parsed, parsed.kind() === 'ipv4' ? 32 : 128]
}
