export interface CookieNames {
  /** PUBLIC_URL is https: the names have a prefix, and the cookies are Secure. */
  readonly secure: boolean
  /** DEVICE_BOUND_SESSIONS: browsers take the cookie from a header only, never from a script. */
  readonly httpOnlyPrefix?: boolean
}

/**
 * The names under which a cookie is read; it is set under the first one. A switch of
 * DEVICE_BOUND_SESSIONS loses no cookie, since both prefixes are read either way.
 *
 * `__Host-` (RFC 6265bis): Secure, no Domain, Path=/. `__Host-Http-`, of newer browsers, also
 * HttpOnly; the others know it as `__Host-`.
 */
export function cookieNames(
  name: string,
  { secure, httpOnlyPrefix = false }: CookieNames,
): readonly [string, ...string[]] {
  if (!secure) return [name]
  const [plain, http] = [`__Host-${name}`, `__Host-Http-${name}`]
  return httpOnlyPrefix ? [http, plain] : [plain, http]
}
