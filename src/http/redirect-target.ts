export interface RedirectPrefix {
  readonly origin: string
  /** Begins with a slash, and ends without one unless it is the root. */
  readonly pathPrefix: string
}

/**
 * The limit before and after percent-encoding. The target is encoded once more in a header, whose
 * size proxies limit.
 */
const MAX_URL_CHARS = 2048

/** Scheme, host, port and path. ASCII names only, no user info, no backslash. */
const PLAIN_URL = /^https?:\/\/(?:[a-z\d.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(\/[^?#]*)?(?:[?#].*)?$/i
/**
 * Encoded dots, slashes, semicolons, backslashes and percent signs; and segments of dots, also
 * before parameters.
 */
const AMBIGUOUS_PATH = /%(?:2e|2f|3b|5c|25)|(?:^|\/)\.+(?![\w.~-])/i

/**
 * The target's normalized URL; undefined if it is not allowed. A URL that parsers could read in
 * different ways is refused first. Then the origin is compared and, unless the whole origin is
 * allowed, whole path segments.
 */
export function allowedTarget(given: unknown, allowed: readonly RedirectPrefix[]): string | undefined {
  if (typeof given !== 'string' || given.length > MAX_URL_CHARS || /[\\\s]|\p{Cc}/u.test(given))
    return undefined
  const plain = PLAIN_URL.exec(given)
  if (plain === null || !URL.canParse(given)) return undefined
  const url = new URL(given)
  const isBelow = (prefix: string) =>
    !isAmbiguous(plain[1] ?? '') && `${url.pathname}/`.startsWith(`${prefix}/`)
  const isAllowed = allowed.some(
    ({ origin, pathPrefix }) => url.origin === origin && (pathPrefix === '/' || isBelow(pathPrefix)),
  )
  return isAllowed && url.href.length <= MAX_URL_CHARS ? url.href : undefined
}

/**
 * Where `/signin` returns to. A path is one of the portal's own host. A target that is too long, or
 * that parsers could read in different ways, falls back to the longest allowed entry with which it
 * begins: the result is then one of the configured URLs, whatever the rest of the target is.
 */
export function returnTarget(
  given: unknown,
  allowed: readonly RedirectPrefix[],
  portalOrigin: string,
): string | undefined {
  if (typeof given !== 'string') return undefined
  const url = /^\/(?!\/)/.test(given) ? portalOrigin + given : given
  return allowedTarget(url, allowed) ?? longestEntry(url, allowed)
}

function longestEntry(url: string, allowed: readonly RedirectPrefix[]): string | undefined {
  const begins = allowed.filter(({ origin, pathPrefix }) => {
    const path = pathPrefix === '/' ? '' : pathPrefix
    const isOfOrigin = url.slice(0, origin.length).toLowerCase() === origin
    const rest = url.slice(origin.length)
    return isOfOrigin && rest.startsWith(path) && /^(?:[/?#\\]|$)/.test(rest.slice(path.length))
  })
  const [longest] = begins.toSorted((a, b) => b.pathPrefix.length - a.pathPrefix.length)
  return longest && longest.origin + longest.pathPrefix
}

/**
 * Whether a server could read another path: as written, or after decoding and Unicode compatibility
 * normalization.
 */
function isAmbiguous(path: string): boolean {
  if (AMBIGUOUS_PATH.test(path)) return true
  try {
    const decodedPath = decodeURIComponent(path).normalize('NFKC')
    const isLonger = decodedPath.split('/').length > path.split('/').length
    return isLonger || AMBIGUOUS_PATH.test(decodedPath) || /[\\%]|\p{Cc}/u.test(decodedPath)
  } catch {
    return true // invalid UTF-8: servers read it differently
  }
}
