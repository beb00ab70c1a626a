import { z } from 'zod'
import { listOf, wholeNumber } from './plain-values.ts'

/** The address or host name that a listener binds to. */
export const listenHost = z.union([z.hostname(), z.ipv6()], 'must be an IP address or a host name')

/** With 0, the system chooses. */
export const port = wholeNumber(0, 65_535)

/** `TRUST_PROXY` as CIDRs. No number of hops: a client on a shorter path could forge its address. */
export const trustedProxies = listOf(
  z
    .union(
      [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
      'must be the address or CIDR of a proxy, such as 10.0.0.0/8',
    )
    .refine((text) => !text.endsWith('/0'), 'must not cover every address: any client could forge its own')
    .refine((text) => !/^::ffff:/i.test(text), 'must be written as IPv4, not as an IPv4-mapped address')
    .transform((text) => (text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`)),
)
