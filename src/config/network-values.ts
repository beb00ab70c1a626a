import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { InvalidValue } from './config-error.ts'
import { listOf } from './plain-values.ts'

/** The address or host name that a listener binds to. */
export function listenHost(text: string): string {
  if (isIP(text) === 0 && !/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(text)) {
    throw new InvalidValue('must be an IP address or a host name')
  }
  return text
}

/** Ports 0–65535; 0 lets the system choose. Kubernetes sets `<SERVICE>_PORT` to a URL, hence the hint. */
export function port(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (value <= 65535) return value
  const hint = /^[a-z]+:\/\//i.test(text)
    ? ' (Kubernetes sets it for a service of that name: enableServiceLinks: false)'
    : ''
  throw new InvalidValue(`must be a port from 0 to 65535${hint}`)
}

/**
 * One entry of `TRUST_PROXY` as a CIDR. An entry that covers every address is refused, because every client could then
 * forge its address.
 */
function trustedProxy(text: string): string {
  if (/^(\*|true|yes|on|all)$/i.test(text)) {
    throw new InvalidValue('must name the proxies: otherwise any client can forge its address')
  }
  if (/^\d+$/.test(text)) {
    throw new InvalidValue('must not be a number of hops: a client on a shorter path could forge its address')
  }
  const [address = '', bits, ...more] = text.split('/')
  const family = address.includes('%') ? 0 : isIP(address)
  const max = family === 6 ? 128 : 32
  if (
    family === 0 ||
    more.length > 0 ||
    (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= max))
  ) {
    throw new InvalidValue('must be an IP address or a CIDR, such as 10.0.0.0/8')
  }
  if (family === 6 && ipaddr.IPv6.parse(address).isIPv4MappedAddress()) {
    throw new InvalidValue('must be written as IPv4, not as an IPv4-mapped address')
  }
  if (Number(bits) === 0) {
    throw new InvalidValue('must not cover every address: otherwise any client can forge its address')
  }
  return `${address.toLowerCase()}/${bits === undefined ? max : Number(bits)}`
}

/** All of `TRUST_PROXY`. Together, the entries must not cover every address of the internet either. */
export function trustedProxies(text: string): readonly string[] {
  const cidrs = listOf(trustedProxy)(text)
  const ranges = [...cidrs, ...NOT_UNICAST].map(prefixOf)
  if (['ipv4 ', 'ipv6 '].some((family) => isCovered(family, ranges))) {
    throw new InvalidValue(
      'must not cover every address, even in several entries: otherwise any client can forge its address',
    )
  }
  return cidrs
}

/** All but the unicast addresses of the internet: 1.0.0.0 to 223.255.255.255, and 2000::/3. */
const NOT_UNICAST = ['0.0.0.0/8', '224.0.0.0/3', '::/3', '4000::/2', '8000::/1']

/** The family, and the bits that all addresses of the range have in common. */
function prefixOf(cidr: string): string {
  const [address, length] = ipaddr.parseCIDR(cidr)
  const bits = address.toByteArray().map((byte) => byte.toString(2).padStart(8, '0'))
  return `${address.kind()} ${bits.join('').slice(0, length)}`
}

/** Whether one range contains the wanted one, or several contain both halves of it. */
function isCovered(wanted: string, by: readonly string[]): boolean {
  if (by.some((range) => wanted.startsWith(range))) return true
  const parts = by.filter((range) => range.startsWith(wanted))
  return parts.length > 0 && ['0', '1'].every((bit) => isCovered(wanted + bit, parts))
}

/** One entry of `NO_PROXY`: a host, a domain with or without a leading dot, an address, with or without a port. */
export function proxyException(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new InvalidValue('must be a host name, a domain or an address')
  return text.toLowerCase()
}
