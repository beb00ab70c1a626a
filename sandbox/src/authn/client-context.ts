import type { IncomingHttpHeaders } from 'node:http'
import type { NetworkZone } from '../sandbox-config.ts'
import { accessDenied, invalidToken } from './authn-error.ts'
import { idFromSeed } from './issued-tokens.ts'
import { clientAddressOf, ipChainOf, zonesOf } from './network-zones.ts'

/**
 * The client of a request. `deviceToken` and `fingerprint` are read only if the request has a valid
 * API token; `X-Forwarded-For` also without one (docs/unproven.md R3).
 */
export type ClientContext = {
  /** In `X-Okta-Request-Id` and in the System Log. */
  requestId: string
  trusted: boolean
  /** The API token is an administrator's with every permission. */
  administrator?: boolean
  /** The id of the API token, as the System Log names it. */
  apiTokenId?: string | undefined
  /** The client's address, as Okta sees it. */
  address: string
  /** The addresses of all hops, the client's first. */
  ipChain: readonly string[]
  /** The names of the network zones in which the request is. */
  zones: readonly string[]
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
  zones: readonly NetworkZone[]
  adminTokens: readonly string[]
  forwardedForNeedsToken: boolean
}

/**
 * An invalid API token is 401 E0000011 on any path, and one without permission is 403 E0000006. A
 * request without a token is from a public application.
 */
export function requireValidApiToken(request: RequestInfo, trust: TrustSettings): void {
  if (trust.tokensWithoutRights.includes(apiTokenOf(request) ?? '')) throw accessDenied()
  if (request.headers.authorization !== undefined && !isTrusted(request, trust)) throw invalidToken()
}

export function readClientContext(request: RequestInfo, trust: TrustSettings): ClientContext {
  const trusted = isTrusted(request, trust)
  const fingerprint = request.headers['x-device-fingerprint']
  const token = apiTokenOf(request) ?? ''
  const isIgnored = trust.forwardedForNeedsToken && !trusted
  const ipChain = ipChainOf(isIgnored ? undefined : forwardedForOf(request), request.socketAddress)
  return {
    requestId: request.requestId,
    trusted,
    administrator: trust.adminTokens.includes(token),
    apiTokenId: trusted ? idFromSeed('00T', token) : undefined,
    address: clientAddressOf(ipChain, trust.zones),
    ipChain,
    zones: zonesOf(ipChain, trust.zones),
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

function forwardedForOf({ headers }: RequestInfo): string | undefined {
  const forwarded = headers['x-forwarded-for']
  return Array.isArray(forwarded) ? forwarded.join(',') : forwarded
}
