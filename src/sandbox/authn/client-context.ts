import type { IncomingHttpHeaders } from 'node:http'
import { accessDenied, invalidToken } from './authn-error.ts'

/** The client of a request. `deviceToken` and `fingerprint` are read only if the request has a valid API token. */
export type ClientContext = {
  /** In `X-Okta-Request-Id` and in the System Log. */
  requestId: string
  trusted: boolean
  address: string
  deviceToken: string | undefined
  fingerprint: string | undefined
  userAgent: string | undefined
  /** The `Cookie` header. A trusted app that drops Okta's cookies has none. */
  cookies?: string | undefined
}

type RequestInfo = { headers: IncomingHttpHeaders; socketAddress: string; requestId: string }
type TrustSettings = {
  apiTokens: ReadonlySet<string>
  /** API tokens of administrators without permission for this API. */
  tokensWithoutRights: readonly string[]
  gatewayAddresses: readonly string[]
}

/**
 * An invalid API token is 401 E0000011 on any path, and one without permission is 403 E0000006. A request without a token
 * is from a public application.
 */
export function requireValidApiToken(request: RequestInfo, trust: TrustSettings): void {
  if (trust.tokensWithoutRights.includes(apiTokenOf(request) ?? '')) throw accessDenied()
  if (request.headers.authorization !== undefined && !isTrusted(request, trust)) throw invalidToken()
}

export function readClientContext(request: RequestInfo, trust: TrustSettings): ClientContext {
  const trusted = isTrusted(request, trust)
  const fingerprint = request.headers['x-device-fingerprint']
  return {
    requestId: request.requestId,
    trusted,
    address: addressOf(request, trust, trusted),
    deviceToken: undefined,
    fingerprint: trusted && typeof fingerprint === 'string' ? fingerprint : undefined,
    userAgent: request.headers['user-agent'],
    cookies: request.headers.cookie,
  }
}

function isTrusted(request: RequestInfo, { apiTokens }: TrustSettings): boolean {
  return apiTokens.has(apiTokenOf(request) ?? '')
}

function apiTokenOf({ headers }: RequestInfo): string | undefined {
  return /^SSWS (\S+)$/.exec(headers.authorization ?? '')?.[1]
}

/** The last entry of X-Forwarded-For that is not a gateway, if a trusted app sends it from a gateway's address. */
function addressOf(
  { headers, socketAddress }: RequestInfo,
  { gatewayAddresses }: TrustSettings,
  trusted: boolean,
): string {
  const forwarded = headers['x-forwarded-for']
  const direct = withoutIpv6Prefix(socketAddress)
  if (!trusted || forwarded === undefined || !gatewayAddresses.includes(direct)) return direct
  const entries = String(forwarded)
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  return entries.findLast((entry) => !gatewayAddresses.includes(entry)) ?? direct
}

function withoutIpv6Prefix(address: string): string {
  return address.replace(/^::ffff:/, '')
}
