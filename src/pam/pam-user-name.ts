import { foldName } from '../login-names.ts'

/** How a signed-in user maps to a PAM user name (`PAM_USER_NAME`). */
export type PamUserName =
  | { readonly kind: 'login' }
  | { readonly kind: 'login-local-part'; readonly domains: readonly PamUserDomain[] }

/**
 * The PAM user name of `ada@<domain>` is `<prefix>ada`. Domains are in lower case; no two prefixes
 * are the same, ignoring case.
 */
export interface PamUserDomain {
  readonly domain: string
  readonly prefix: string
}

/**
 * Maps a login to a PAM user name. undefined: the domain is not mapped, the name belongs to another
 * domain, or it cannot be one path segment in any encoding.
 */
export function toPamUserName(login: string, rule: PamUserName): string | undefined {
  const name = rule.kind === 'login' ? login : mapLocalPart(login, rule.domains)
  return name === undefined || !isOneSegment(name) ? undefined : name
}

function mapLocalPart(login: string, domains: readonly PamUserDomain[]): string | undefined {
  const at = login.lastIndexOf('@')
  const own = domains.find(({ domain }) => at > 0 && domain === login.slice(at + 1).toLowerCase())
  if (own === undefined) return undefined
  const name = own.prefix + login.slice(0, at)
  return findOwner(name, domains) === own ? name : undefined
}

/**
 * A name belongs to the domain with the longest matching prefix: `partner-ada@corp.example` must
 * not become the user `ada` of a domain with the prefix `partner-`.
 */
function findOwner(name: string, domains: readonly PamUserDomain[]): PamUserDomain | undefined {
  const folded = foldName(name)
  return domains
    .filter(({ prefix }) => folded.startsWith(foldName(prefix)))
    .sort((a, b) => b.prefix.length - a.prefix.length)[0]
}

/** Also for a server that normalizes Unicode before it reads a path. */
function isOneSegment(name: string): boolean {
  return ![name, name.normalize('NFKC')].some((spelled) => NOT_ONE_SEGMENT.test(spelled))
}

/**
 * URL parsers remove dot segments even if they are percent-encoded (WHATWG URL, "double-dot path
 * segment"). Some servers and gateways decode a path twice, so no name has a character that ends a
 * segment or a path, nor the percent sign. Control characters are refused too, and lone surrogates,
 * which have no percent-encoding.
 */
const NOT_ONE_SEGMENT = /^\.{0,2}$|[/\\%?#;\p{Cc}\p{Cs}]/u
