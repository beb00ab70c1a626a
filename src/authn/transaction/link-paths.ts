/** The paths of Okta's links. Pure: no packages, no I/O. */

/** The path of an enrollment picture (QR code). Its last segment is one of Okta's tokens. */
export const PICTURE = /^(\/api\/v1\/users\/[^/]+\/factors\/[^/]+\/qr\/)([^/]+)$/

const PLAIN_PATH = /^[\w/.~-]*$/

/**
 * A path in one form for comparison: Okta and browsers may percent-encode a character, such as a
 * colon, or not.
 */
export function normalizePath(path: string): string {
  if (PLAIN_PATH.test(path)) return path
  return path
    .split('/')
    .map((segment) => {
      try {
        return encodeURIComponent(decodeURIComponent(segment))
      } catch {
        return segment // a stray percent sign: no route matches it
      }
    })
    .join('/')
}
