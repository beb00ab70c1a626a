import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { ConfigError } from './config-error.ts'
import { listOf, matching, parsed, wholeNumber } from './plain-values.ts'

/** The address or host name that a listener binds to. */
export const listenHost = z
  .string()
  .refine((text) => isIP(text) !== 0 || /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(text), {
    error: 'must be an IP address or a host name',
  })

/** With 0, the system chooses. */
export const port = wholeNumber(
  0,
  65_535,
  'must be a port from 0 to 65535 (Kubernetes sets a URL for a service of that name: enableServiceLinks: false)',
)

/** An entry of `TRUST_PROXY` as a CIDR. Not a number of hops: a client on a shorter path could forge its address. */
const trustedProxy = parsed((text) => {
  const [address = '', bits, ...more] = text.split('/')
  const family = address.includes('%') ? 0 : isIP(address)
  const max = family === 6 ? 128 : 32
  const length = bits === undefined ? max : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  if (family === 0 || more.length > 0 || !(length <= max))
    throw new ConfigError('must be the address or CIDR of a proxy, such as 10.0.0.0/8')
  if (family === 6 && ipaddr.IPv6.parse(address).isIPv4MappedAddress())
    throw new ConfigError('must be written as IPv4, not as an IPv4-mapped address')
  return `${address.toLowerCase()}/${length}`
})

/** The entries together must not cover every address of the internet. */
export const trustedProxies = listOf(trustedProxy).refine((cidrs) => {
  const ranges = [...cidrs, ...NOT_UNICAST].map(prefixOf)
  return !isCovered('ipv4 ', ranges) && !isCovered('ipv6 ', ranges)
}, 'must not cover every address: otherwise any client can forge its address')

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
export const proxyException = matching(
  /^[\x21-\x7e]+$/,
  'must be a host name, a domain or an address',
).toLowerCase()
