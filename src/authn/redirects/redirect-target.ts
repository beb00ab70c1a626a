export interface RedirectPrefix {
  readonly origin: string
  /** Begins with a slash, ends with none unless it is the root. */
  readonly pathPrefix: string
}

/** Of a target, as it was given and percent-encoded: it is encoded once more in a header, which proxies limit. */
const MAX_URL_CHARS = 2048

/** Scheme, host and port, path: what decides where a browser goes. ASCII names only; no user info, no backslash. */
const PLAIN_URL = /^https?:\/\/(?:[a-z\d.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(\/[^?#]*)?(?:[?#].*)?$/i
/** Escapes of a dot, a slash, a semicolon or an escape, and segments of dots, which climb: alone or before parameters. */
const AMBIGUOUS_PATH = /%(?:2e|2f|3b|5c|25)|(?:^|\/)\.+(?![\w.~-])/i

/**
 * The address to go to, in its one clean spelling; undefined: not allowed. What could be read in two ways is refused
 * before anything is parsed; then origins and whole path segments are compared.
 */
export function allowedTarget(given: unknown, allowed: readonly RedirectPrefix[]): string | undefined {
  if (typeof given !== 'string' || given.length > MAX_URL_CHARS || /[\\\s]|\p{Cc}/u.test(given))
    return undefined
  const plain = PLAIN_URL.exec(given)
  if (plain === null || isAmbiguous(plain[1] ?? '') || !URL.canParse(given)) return undefined
  const url = new URL(given)
  const fits = allowed.some(
    ({ origin, pathPrefix }) =>
      url.origin === origin &&
      (pathPrefix === '/' || url.pathname === pathPrefix || url.pathname.startsWith(`${pathPrefix}/`)),
  )
  return fits && url.href.length <= MAX_URL_CHARS ? url.href : undefined
}

/** What a server behind could take for another path: as it is written, or decoded and in the compatible form of Unicode. */
function isAmbiguous(path: string): boolean {
  if (AMBIGUOUS_PATH.test(path)) return true
  try {
    const read = decodeURIComponent(path).normalize('NFKC')
    const isLonger = read.split('/').length > path.split('/').length
    return isLonger || AMBIGUOUS_PATH.test(read) || /[\\%]|\p{Cc}/u.test(read)
  } catch {
    return true // no UTF-8: each server reads it in its own way
  }
}
