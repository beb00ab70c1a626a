import ipaddr from 'ipaddr.js'

/**
 * What limits count an address as. A household or a host has a whole /64 of IPv6 addresses to choose from (RFC 6177),
 * so all of it counts as one; an IPv4-mapped address is the IPv4 one.
 */
export function countedAddress(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()}/64`
}
