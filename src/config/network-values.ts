import { z } from 'zod'
import { listOf, wholeNumber } from './plain-values.ts'

/** The address or host name that a listener binds to. */
export const listenHost = z.union([z.hostname(), z.ipv6()], 'must be an IP address or a host name')

/** With 0, the system chooses. */
export const port = wholeNumber(0, 65_535)

/** With a few such ranges, every address would be a proxy's. `fc00::/7` has the private addresses. */
const TOO_LARGE = /\/[0-6]$|^[^:]+\/7$/

/** `TRUST_PROXY` as CIDRs. No number of hops: a client on a shorter path could forge its address. */
export const trustedProxies = listOf(
  z
    .union(
      [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
      'must be the address or CIDR of a proxy, such as 10.0.0.0/8',
    )
    .refine(
      (text) => !TOO_LARGE.test(text),
      'must not be larger than /8 (IPv6: /7): any client could choose its own address',
    )
    .refine((text) => !/^::ffff:/i.test(text), 'must be written as IPv4, not as an IPv4-mapped address')
    .transform((text) => (text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`)),
)
