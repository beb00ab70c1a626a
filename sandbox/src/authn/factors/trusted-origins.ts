import type { FactorStep } from './factor-handler.ts'
import { sha256 } from './virtual-authenticator.ts'

const ANY_PORT = ':*'

type Origins = Pick<FactorStep, 'org' | 'origin' | 'pageOrigin'>

/**
 * SHA-256 of the relying party ids that a security key may have on this page: its host name, and
 * `relyingPartyIds`. None if the page may not use keys.
 */
export function relyingPartyHashes(clientOrigin: string, step: Origins): Buffer[] {
  if (!mayUseKeys(clientOrigin, step)) return []
  return [new URL(clientOrigin).hostname, ...step.org.config.relyingPartyIds].map(sha256)
}

/**
 * False if the page's origin is not trusted, or `requiresOriginHeader` is set and the `Origin`
 * header is not trusted.
 */
export function mayUseKeys(clientOrigin: string, step: Origins): boolean {
  const isAllowed = !step.org.config.requiresOriginHeader || isTrustedOrigin(step.pageOrigin, step)
  return isAllowed && isTrustedOrigin(clientOrigin, step)
}

/** Whether the origin is one of `trustedOrigins` or the org's own. */
export function isTrustedOrigin(given: string | undefined, { org, origin }: Origins): given is string {
  const trusted = [...org.config.trustedOrigins, new URL(origin).origin]
  return given !== undefined && trusted.some((trustedOrigin) => matchesOrigin(given, trustedOrigin))
}

/**
 * Whether the org redirects a browser to this URL: to its own origin, and to Trusted Origins of the
 * type Redirect.
 */
export function isTrustedRedirect(
  url: unknown,
  { org, origin }: Pick<Origins, 'org' | 'origin'>,
): url is string {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const trusted = [...(org.config.redirectOrigins ?? org.config.trustedOrigins), new URL(origin).origin]
  return trusted.some((trustedOrigin) => matchesOrigin(new URL(url).origin, trustedOrigin))
}

/** An exact comparison, except that `http://localhost:*` allows any port. */
function matchesOrigin(origin: string, trusted: string): boolean {
  if (!trusted.endsWith(ANY_PORT)) return origin === trusted
  const site = trusted.slice(0, -ANY_PORT.length)
  return origin === site || (origin.startsWith(`${site}:`) && /^\d{1,5}$/.test(origin.slice(site.length + 1)))
}
