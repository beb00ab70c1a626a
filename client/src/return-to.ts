const MAX_URL_CHARS = 2048
/** Scheme, host, port and path. ASCII names only, no user info, no backslash. */
const PLAIN_URL = /^https?:\/\/(?:[a-z\d.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(\/[^?#]*)?(?:[?#].*)?$/i
/**
 * Encoded dots, slashes, semicolons, backslashes and percent signs; and segments of dots, also
 * before parameters.
 */
const AMBIGUOUS_PATH = /%(?:2e|2f|3b|5c|25)|(?:^|\/)\.+(?![\w.~-])/i

/**
 * The normalized URL if the page may send the user there, else undefined: the broker's own check of
 * `/signin?returnTo=`, for a page that reads `returnTo` itself. A path in `allowed` allows itself
 * and every path below it.
 */
export function allowedReturnTo(
  returnTo: unknown,
  allowed: readonly string[] = [location.origin],
): string | undefined {
  if (typeof returnTo !== 'string' || returnTo.length > MAX_URL_CHARS || /[\\\s]|\p{Cc}/u.test(returnTo))
    return undefined
  const plain = PLAIN_URL.exec(returnTo)
  const url = plain && parse(returnTo)
  if (!url) return undefined
  const isAllowed = allowed.some((given) => {
    const { origin, pathname } = new URL(given)
    if (url.origin !== origin || pathname === '/') return url.origin === origin
    return !isAmbiguous(plain[1] ?? '') && `${url.pathname}/`.startsWith(pathname.replace(/\/?$/, '/'))
  })
  return isAllowed && url.href.length <= MAX_URL_CHARS ? url.href : undefined
}

/** `URL.canParse` is too new for some browsers. */
function parse(href: string): URL | undefined {
  try {
    return new URL(href)
  } catch {
    return undefined
  }
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
