import ipaddr from 'ipaddr.js'

/**
 * `NO_PROXY` for the upstream at `origin`, as undici reads it. undici compares names and knows no
 * ranges. So if the host is an address, and an entry is that address or a range with it, the host
 * itself is added. A name is never resolved: it can have other addresses at the proxy.
 */
export function noProxyFor(entries: readonly string[], origin: string): string {
  const host = new URL(origin).hostname
  const isListed = entries.some((entry) => containsAddress(entry, host))
  return [...entries, ...(isListed ? [host] : [])].join(',')
}

/**
 * Whether calls to `url` go through the egress proxy: https, and no entry names the host or, with a
 * dot before it, its domain.
 */
export function isProxied(url: string, entries: readonly string[]): boolean {
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'https:') return false
  return !noProxyFor(entries, url)
    .split(',')
    .some((entry) => {
      const [name = '', only] = entry
        .trim()
        .toLowerCase()
        .replace(/^\*?\./, '')
        .split(/:(?=\d+$)/)
      const isName = name === '*' || hostname === name || hostname.endsWith(`.${name}`)
      return name !== '' && isName && (only === undefined || only === (port || '443'))
    })
}

/** Whether an entry of `NO_PROXY` is a range of addresses, such as `10.0.0.0/8`. */
export function isAddressRange(entry: string): boolean {
  return ipaddr.isValidCIDR(entry)
}

/** `host` as in a URL: an IPv6 address has brackets. */
function containsAddress(entry: string, host: string): boolean {
  const text = host.replace(/^\[|\]$/g, '')
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if (ipaddr.isValid(entry)) return ipaddr.process(entry).toString() === address.toString()
  if (!ipaddr.isValidCIDR(entry)) return false
  const [network, bits] = ipaddr.parseCIDR(entry)
  return network.kind() === address.kind() && address.match(network, bits)
}
