import type { NetworkZone, SignOnPolicy } from '../sandbox-config.ts'

/**
 * Okta looks at no more hops than this
 * (https://help.okta.com/en-us/content/topics/security/network/about-ip-zones.htm).
 */
const MAX_HOPS = 5

/**
 * The addresses of a request's hops, the client's first: those of `X-Forwarded-For`, then the one
 * that is connected to Okta.
 */
export function ipChainOf(forwardedFor: string | undefined, socketAddress: string): string[] {
  const forwarded = (forwardedFor ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  return [...forwarded, withoutIpv6Prefix(socketAddress)]
}

/**
 * The address that Okta takes for the client's: from the last hop, a hop that any zone has as
 * gateway or proxy stands for the one before it (docs/unproven.md R3). Nothing in `X-Forwarded-For`
 * counts if the last hop is in no zone.
 */
export function clientAddressOf(ipChain: readonly string[], zones: readonly NetworkZone[]): string {
  const isKnown = (address: string) =>
    zones.some(({ gateways, proxies }) => gateways.includes(address) || proxies.includes(address))
  return ipChain.findLast((address) => !isKnown(address)) ?? String(ipChain[0])
}

/** The names of the zones in which a request is. Each zone is evaluated alone. */
export function zonesOf(ipChain: readonly string[], zones: readonly NetworkZone[]): string[] {
  return zones.filter((zone) => isInside(ipChain, zone)).map(({ name }) => name)
}

/** The rule that applies to requests from these zones: the first one that matches. */
export function matchingRule(policy: SignOnPolicy, insideOf: readonly string[]) {
  return policy.rules.find(({ network, zones }) => {
    const isInside = zones === 'all' ? insideOf.length > 0 : zones.some((name) => insideOf.includes(name))
    return isInside === (network === 'inside')
  })
}

/**
 * From the last hop: a gateway of the zone means inside, a proxy of the zone means to look one hop
 * back, and any other address means outside (docs/unproven.md O1).
 */
function isInside(ipChain: readonly string[], { gateways, proxies }: NetworkZone): boolean {
  const lastHopFirst = ipChain.toReversed().slice(0, MAX_HOPS)
  const decisive = lastHopFirst.find((address) => gateways.includes(address) || !proxies.includes(address))
  return decisive !== undefined && gateways.includes(decisive)
}

function withoutIpv6Prefix(address: string): string {
  return address.replace(/^::ffff:/, '')
}
