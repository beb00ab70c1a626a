import { InvalidValue } from './config-error.ts'

/** `https://host[:port]`, or plain http on localhost, where browsers treat it as secure enough for cookies. */
export function publicOrigin(text: string): string {
  return originOf(httpUrl(text, isLocalhost, 'must be https; plain http only for localhost'))
}

/** `https://host[:port]`, or plain http on a loopback address. */
export function upstreamOrigin(text: string): string {
  return originOf(upstreamUrl(text))
}

/** As `upstreamOrigin`, but a path is allowed; without a slash at the end. */
export function upstreamBaseUrl(text: string): string {
  const { origin, pathname } = upstreamUrl(text)
  checkPath(text)
  return origin + pathname.replace(/\/$/, '')
}

/** Any http or https origin; same-site.ts compares it with `PUBLIC_URL`. */
export function webOrigin(text: string): string {
  return originOf(httpUrl(text, () => true, ''))
}

/** An absolute URL; a path, a query and a fragment are allowed. */
export function pageUrl(text: string): URL {
  const url = httpUrl(text, () => true, '')
  if (url.searchParams.has('stateToken')) {
    throw new InvalidValue('must not have a stateToken in its query: the broker adds it')
  }
  return url
}

/**
 * One of `SSO_REDIRECTS`: a `redirectUrl` is allowed if it has this origin, and this path or one below it. The path
 * begins with a slash, and ends with one only if it is the root. Compare whole segments.
 */
export function redirectPrefix(text: string): { readonly origin: string; readonly pathPrefix: string } {
  const url = httpUrl(text, isLoopback, 'must be https; plain http only on loopback')
  checkPath(text)
  return { origin: url.origin, pathPrefix: url.pathname.replace(/\/$/, '') || '/' }
}

/** The egress proxy; user and password are allowed. */
export function proxyUrl(text: string): string {
  const url = parseUrl(text)
  if (!/^https?:$/.test(url.protocol)) throw new InvalidValue('must be an http or https URL')
  if (url.pathname !== '/' || hasQueryOrFragment(text))
    throw new InvalidValue('must have no path and no query')
  return url.href
}

/** Dot segments and their encoded forms, and `%2f` and `%5c`, which some servers treat as slashes. */
export function hasUnsafePath(path: string): boolean {
  return /(^|\/)(\.|%2e){1,2}(\/|$)/i.test(path) || /%2f|%5c|\\|\/\//i.test(path)
}

function upstreamUrl(text: string): URL {
  const url = httpUrl(text, isLoopback, 'must be https; plain http only on loopback')
  if (/^your-[a-z.]+\.example\.net$/.test(url.hostname)) {
    throw new InvalidValue('is still the placeholder of the example')
  }
  return url
}

/** Checks the path of a URL as it was written. */
function checkPath(text: string): void {
  if (hasQueryOrFragment(text)) throw new InvalidValue('must have no query and no fragment')
  const path = text.replace(/^[a-z]+:\/\/[^/]*/i, '')
  if (hasUnsafePath(path))
    throw new InvalidValue('must have no dot segments and no encoded slashes in its path')
  if (!canDecode(path)) throw new InvalidValue('must have only percent-encoded UTF-8 in its path')
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function httpUrl(text: string, plainHttpAllowed: (host: string) => boolean, otherwise: string): URL {
  const url = parseUrl(text)
  if (!/^https?:$/.test(url.protocol)) throw new InvalidValue('must begin with https://')
  if (url.protocol === 'http:' && !plainHttpAllowed(url.hostname)) throw new InvalidValue(otherwise)
  if (/^[a-z]+:\/\/[^/?#]*@/i.test(text)) throw new InvalidValue('must have no user name and no password')
  return url
}

/** Stricter than the URL class: `https:host`, backslashes and white space are refused. */
function parseUrl(text: string): URL {
  const host = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(text)?.[1]?.split('@').at(-1) ?? text
  if (host.includes('*')) throw new InvalidValue('must not have a wildcard: list each one')
  const isAbsolute = /^[a-z][a-z0-9+.-]*:\/\/[^/\\\s]/i.test(text) && !/[\s\\]/.test(text)
  if (!isAbsolute || !URL.canParse(text)) {
    throw new InvalidValue('must be an absolute URL, such as https://host.example.com')
  }
  const url = new URL(text)
  if (!/^(\[[0-9a-f:.]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)$/.test(url.hostname)) {
    throw new InvalidValue('must have a plain host name or address')
  }
  return url
}

function originOf(url: URL): string {
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || /[?#]$/.test(url.href)) {
    throw new InvalidValue('must be an origin only: scheme, host and port, without path, query and fragment')
  }
  return url.origin
}

const hasQueryOrFragment = (text: string) => /[?#]/.test(text)

const isLocalhost = (host: string) => ['localhost', '127.0.0.1', '[::1]'].includes(host)

const isLoopback = (host: string) => isLocalhost(host) || /^127(\.\d{1,3}){3}$/.test(host)
