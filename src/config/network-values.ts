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
 * One entry of `TRUST_PROXY` as a CIDR. An entry that covers every address is refused: any client could then forge its
 * address.
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

/** All of `TRUST_PROXY`. Together, the entries must not cover every address either. */
export function trustedProxies(text: string): readonly string[] {
  const cidrs = listOf(trustedProxy)(text)
  if (ALL_ADDRESSES.some((range) => isCovered(range, cidrs.map(rangeOf)))) {
    throw new InvalidValue(
      'must not cover every address, even in several entries: otherwise any client can forge its address',
    )
  }
  return cidrs
}

interface Range {
  readonly family: 'ipv4' | 'ipv6'
  readonly first: bigint
  readonly last: bigint
}

function rangeOf(cidr: string): Range {
  const [address, bits] = ipaddr.parseCIDR(cidr)
  const bytes = address.toByteArray()
  const size = 1n << BigInt(bytes.length * 8 - bits)
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  const first = value - (value % size)
  return { family: address.kind(), first, last: first + size - 1n }
}

function isCovered(wanted: Range, by: readonly Range[]): boolean {
  let next = wanted.first
  for (const { first, last } of by
    .filter(({ family }) => family === wanted.family)
    .sort((one, other) => (one.first < other.first ? -1 : 1))) {
    if (first > next) return false
    if (last >= next) next = last + 1n
    if (next > wanted.last) return true
  }
  return false
}

/** The unicast addresses of the internet: 1.0.0.0 to 223.255.255.255, and 2000::/3. */
const ALL_ADDRESSES: readonly Range[] = [
  { family: 'ipv4', first: rangeOf('1.0.0.0/32').first, last: rangeOf('223.0.0.0/8').last },
  rangeOf('2000::/3'),
]

/** One entry of `NO_PROXY`: a host, a domain with or without a leading dot, an address, with or without a port. */
export function proxyException(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new InvalidValue('must be a host name, a domain or an address')
  return text.toLowerCase()
}
