/** How a signed-in person maps to a PAM user name (`PAM_USER_NAME`). Domains are in lower case. */
export type PamUserName =
  | { readonly kind: 'login' }
  | { readonly kind: 'login-local-part'; readonly domains: readonly string[] }

/**
 * The PAM user name of a login. undefined: this person has none — the domain is not one of ours, or the name could
 * not stand as one segment of a path, whatever its encoding.
 */
export function pamUserOf(login: string, rule: PamUserName): string | undefined {
  const name = rule.kind === 'login' ? login : localPartOf(login, rule.domains)
  return name === undefined || !isOneSegment(name) ? undefined : name
}

function localPartOf(login: string, domains: readonly string[]): string | undefined {
  const at = login.lastIndexOf('@')
  if (at < 0) return undefined
  return domains.includes(login.slice(at + 1).toLowerCase()) ? login.slice(0, at) : undefined
}

/** Dot segments are resolved away even when they are percent-encoded (WHATWG URL, "double-dot path segment"). */
function isOneSegment(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !UNFIT.test(name)
}

/** Control characters, and halves of surrogate pairs, which have no percent-encoding. */
const UNFIT = /[\p{Cc}\p{Cs}]/u
