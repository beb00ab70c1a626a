import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'

/** Proxies whose word we take, as CIDRs; see TRUST_PROXY. */
export type TrustedProxies = (address: string) => boolean

/** `cidrs` have been checked by the configuration. */
export function trustProxies(cidrs: readonly string[]): TrustedProxies {
  const ranges = cidrs.map((cidr) => (cidr.includes('/') ? ipaddr.parseCIDR(cidr) : singleAddress(cidr)))
  return (address) => {
    const parsed = ipaddr.isValid(address) ? ipaddr.process(address) : undefined
    return (
      parsed !== undefined &&
      ranges.some(([net, bits]) => net.kind() === parsed.kind() && parsed.match(net, bits))
    )
  }
}

/**
 * The client's one clean address: `X-Forwarded-For` is walked from the right, and only as long as the hop that
 * wrote an entry is a trusted proxy. What an end user writes into the header is never reached, and an entry
 * that is no address ends the walk at the last address we can stand for.
 */
export function clientAddress(req: IncomingMessage, isTrusted: TrustedProxies): string {
  let address = cleanAddress(req.socket.remoteAddress ?? '') ?? '0.0.0.0'
  const entries = forwardedFor(req)
  while (isTrusted(address)) {
    const next = cleanAddress(entries.pop() ?? '')
    if (next === undefined) break
    address = next
  }
  return address
}

function forwardedFor(req: IncomingMessage): string[] {
  const header = req.headers['x-forwarded-for']
  const text = Array.isArray(header) ? header.join(',') : (header ?? '')
  return text.split(',').map((entry) => entry.trim())
}

/** IPv4-mapped addresses become IPv4; `1.2.3.4:567` and `[::1]:567` lose their ports, IPv6 its zone. */
function cleanAddress(entry: string): string | undefined {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
  const address = bare.includes(':') ? bare.replace(/%.*$/, '') : bare
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return undefined
  return ipaddr.process(address).toString()
}

function singleAddress(address: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const parsed = ipaddr.process(address)
  return [parsed, parsed.kind() === 'ipv4' ? 32 : 128]
}
