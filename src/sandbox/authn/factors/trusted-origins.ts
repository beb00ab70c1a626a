import type { FactorStep } from './factor-handler.ts'
import { sha256 } from './virtual-authenticator.ts'

const ANY_PORT = ':*'

/**
 * SHA-256 of the relying party id (the host name) of the page that used a security key; undefined if the page's origin is
 * neither one of `trustedOrigins` nor the org's own.
 */
export function relyingPartyHashOf(
  clientOrigin: string,
  { org, origin }: Pick<FactorStep, 'org' | 'origin'>,
) {
  const trusted = [...org.config.trustedOrigins, new URL(origin).origin]
  return trusted.some((trustedOrigin) => matchesOrigin(clientOrigin, trustedOrigin))
    ? sha256(new URL(clientOrigin).hostname)
    : undefined
}

/** An exact comparison, except that `http://localhost:*` allows any port. */
function matchesOrigin(origin: string, trusted: string): boolean {
  if (!trusted.endsWith(ANY_PORT)) return origin === trusted
  const site = trusted.slice(0, -ANY_PORT.length)
  return origin === site || (origin.startsWith(`${site}:`) && /^\d{1,5}$/.test(origin.slice(site.length + 1)))
}
