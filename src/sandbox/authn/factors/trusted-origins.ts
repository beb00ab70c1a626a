import type { FactorStep } from './factor-handler.ts'
import { sha256 } from './virtual-authenticator.ts'

const ANY_PORT = ':*'

/**
 * The site for which a security key made its answer: one of `trustedOrigins` in the configuration, or the org itself.
 *
 * @returns SHA-256 of the site's relying party id (its host name); undefined: the org does not trust the origin
 */
export function relyingPartyHashOf(
  clientOrigin: string,
  { org, origin }: Pick<FactorStep, 'org' | 'origin'>,
) {
  const trusted = [...org.config.trustedOrigins, new URL(origin).origin]
  return trusted.some((one) => isOrigin(clientOrigin, one))
    ? sha256(new URL(clientOrigin).hostname)
    : undefined
}

/** Exact, letter by letter, as browsers write it; `http://localhost:*` stands for every port. */
function isOrigin(origin: string, trusted: string): boolean {
  if (!trusted.endsWith(ANY_PORT)) return origin === trusted
  const site = trusted.slice(0, -ANY_PORT.length)
  return origin === site || (origin.startsWith(`${site}:`) && /^\d{1,5}$/.test(origin.slice(site.length + 1)))
}
