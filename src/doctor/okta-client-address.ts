import { isIP } from 'node:net'
import { fieldsOf } from '../upstream/http-api.ts'
import { type Finding, fail, ok, skipped, warn } from './finding.ts'

/** What the System Log has of the client of a request. */
export interface SeenClient {
  readonly address: string | undefined
  /** The addresses of all hops, the client's first. Empty: the System Log does not show them. */
  readonly ipChain: readonly string[]
  /** The names of the network zones. Undefined: the System Log does not show them. */
  readonly zones: readonly string[] | undefined
  /** The owner of the network of `address`. */
  readonly network: string | undefined
  /** Whether Okta knows `address` as an anonymizing proxy. */
  readonly isProxy: boolean
}

export const FORWARDED_FOR_BY_HAND =
  'Sign in through the portal from another network. The System Log must show the address of that network as the client, in no zone that it does not belong to (docs/connect-your-okta-org.md, step 3).'

/**
 * Reads the events of one request. Okta's examples have the text `null` as the zone of a client
 * that is in none; whether further zones are named is unproven (docs/unproven.md N2), so the zones
 * of all events are collected.
 */
export function readSeenClient(events: readonly unknown[]): SeenClient {
  const all = (...path: string[]) => events.map((event) => valueAt(event, path))
  const zones = all('client', 'zone').filter((zone) => zone !== undefined)
  const chain = all('request', 'ipChain').find((value): value is unknown[] => Array.isArray(value)) ?? []
  return {
    address: all('client', 'ipAddress').find(isAddress),
    ipChain: chain.map((hop) => fieldsOf(hop).ip).filter(isAddress),
    zones: zones.length === 0 ? undefined : [...new Set(zones.filter(isName).map(printable))],
    network: all('securityContext', 'asOrg').filter(isName).map(printable)[0],
    isProxy: all('securityContext', 'isProxy').includes(true),
  }
}

/** Judges what Okta made of a request that forwarded this address, which no client has. */
export function judgeSeenClient(seen: SeenClient, forwarded: string): Finding {
  const { address, ipChain, zones } = seen
  if (address === undefined) return skipped('the System Log shows no address', FORWARDED_FOR_BY_HAND)
  if (address !== forwarded) {
    const isInChain = ipChain.includes(forwarded)
    const ignored = `Okta ignores X-Forwarded-For, and takes ${address} for the client’s address`
    return fail(ignored + detailsOf(seen), isInChain ? trustFix(address) : trustFix(address) + ARRIVAL_FIX)
  }
  const uses = 'Okta uses the address in X-Forwarded-For'
  if (zones === undefined) return ok(`${uses}; the System Log shows no zones${detailsOf(seen)}`)
  if (zones.length === 0) return ok(`${uses}, in no zone${detailsOf(seen)}`)
  return warn(
    `${uses}, but counts ${forwarded}, which nobody has, into a zone${detailsOf(seen)}`,
    GATEWAY_FIX,
  )
}

const trustFix = (address: string) =>
  `If ${address} is an address of the broker, add it to the trusted proxies of every zone that a policy uses, never to the gateways (docs/connect-your-okta-org.md, step 3).`

const ARRIVAL_FIX =
  ' If it is among them, the header does not arrive: let the egress proxy pass X-Forwarded-For on.'

const GATEWAY_FIX =
  'Unless this zone restricts the API token, and no policy uses it or all zones: remove the broker’s addresses from its gateways, and add them to its trusted proxies. Until then, every user counts as inside it (docs/connect-your-okta-org.md, step 3).'

/** The rest of what the System Log shows, in parentheses. The network is that of `address`. */
function detailsOf({ ipChain, zones = [], network, isProxy }: SeenClient): string {
  const shown = [
    ...(ipChain.length > 0 ? [`IP chain: ${ipChain.join(', ')}`] : []),
    ...(zones.length > 0 ? [`zone: ${zones.join(', ')}`] : []),
    ...(network === undefined ? [] : [`network: ${network}`]),
    ...(isProxy ? ['an anonymizing proxy for Okta'] : []),
  ]
  return shown.length === 0 ? '' : ` (${shown.join('; ')})`
}

function valueAt(event: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => fieldsOf(value)[name], event)
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && isIP(value) !== 0
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== 'null' && value !== ''
}

/** A zone whose name cannot be printed is still a zone. */
function printable(name: string): string {
  return name.replace(/\p{C}/gu, '?').slice(0, 100)
}
