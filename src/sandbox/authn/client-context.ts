import type { IncomingHttpHeaders } from 'node:http'
import { accessDenied, invalidToken } from './authn-error.ts'

/** The client as the sandbox saw it. deviceToken and fingerprint count with a valid API token only. */
export type ClientContext = {
  trusted: boolean
  address: string
  deviceToken: string | undefined
  fingerprint: string | undefined
  userAgent: string | undefined
}

type RequestInfo = { headers: IncomingHttpHeaders; socketAddress: string }
type TrustSettings = {
  apiTokens: ReadonlySet<string>
  /** API tokens of administrators without the rights for this API. */
  tokensWithoutRights: readonly string[]
  gatewayAddresses: readonly string[]
}

/**
 * An API token that is not valid is refused whatever the call (401 E0000011), as is one without the rights (403 E0000006).
 * No token at all is a public application.
 */
export function requireValidApiToken(seen: RequestInfo, trust: TrustSettings): void {
  if (trust.tokensWithoutRights.includes(apiTokenOf(seen) ?? '')) throw accessDenied()
  if (seen.headers.authorization !== undefined && !isTrusted(seen, trust)) throw invalidToken()
}

export function readClientContext(seen: RequestInfo, trust: TrustSettings): ClientContext {
  const trusted = isTrusted(seen, trust)
  const fingerprint = seen.headers['x-device-fingerprint']
  return {
    trusted,
    address: addressOf(seen, trust, trusted),
    deviceToken: undefined,
    fingerprint: trusted && typeof fingerprint === 'string' ? fingerprint : undefined,
    userAgent: seen.headers['user-agent'],
  }
}

function isTrusted(seen: RequestInfo, { apiTokens }: TrustSettings): boolean {
  return apiTokens.has(apiTokenOf(seen) ?? '')
}

function apiTokenOf({ headers }: RequestInfo): string | undefined {
  return /^SSWS (\S+)$/.exec(headers.authorization ?? '')?.[1]
}

/** X-Forwarded-For counts from a trusted app behind a gateway address: its last entry that is no gateway. */
function addressOf(
  { headers, socketAddress }: RequestInfo,
  { gatewayAddresses }: TrustSettings,
  trusted: boolean,
): string {
  const forwarded = headers['x-forwarded-for']
  const direct = plainAddress(socketAddress)
  if (!trusted || forwarded === undefined || !gatewayAddresses.includes(direct)) return direct
  const entries = String(forwarded)
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  return entries.findLast((entry) => !gatewayAddresses.includes(entry)) ?? direct
}

function plainAddress(address: string): string {
  return address.replace(/^::ffff:/, '')
}
