/** Who is signed in, since when, on which device and by which factors; no upstream token. */
export interface Session {
  /** A public id, safe to show; never the cookie's. */
  readonly publicId: string
  /** The upstream's opaque user id. */
  readonly userId: string
  readonly login: string
  /** The upstream's profile as it answered it: firstName, lastName, locale, timeZone, login. */
  readonly profile: Readonly<Record<string, unknown>>
  /** Authentication methods, RFC 8176 names. */
  readonly amr: readonly string[]
  /** Keyed hashes of login and device, for the log. */
  readonly loginHash: string
  readonly device: string
  readonly userAgent: string
  readonly createdAtMs: number
  /** When it was last moved; the idle limit counts from here. */
  readonly lastSeenAtMs: number
}
