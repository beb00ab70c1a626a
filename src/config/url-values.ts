import { z } from 'zod'

/** Stricter than the URL class: `https:host`, backslashes, wildcards and a dot at the end of the host are refused. */
const HOST = String.raw`(\[[0-9a-f:.]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)(:\d{1,5})?`

/** An http or https URL; `rest` is a pattern of what comes after the scheme. */
const url = (rest: string, form: string) =>
  z.string().refine((text) => new RegExp(`^https?://${rest}$`, 'i').test(text) && URL.canParse(text), {
    error: `must be ${form}, such as https://host.example.com`,
    abort: true,
  })

const anyOrigin = url(`${HOST}/?`, 'an origin only: scheme, host and port')
const anyBase = url(String.raw`${HOST}(/[^\s\\?#]*)?`, 'a URL without user name, query and fragment')
const isSafeBase = (text: string) => !hasUnsafePath(text.replace(/^\w+:\/\//, ''))
const originOf = (text: string) => new URL(text).origin
const pathOf = (text: string) => new URL(text).pathname.replace(/\/$/, '')

const isHttpsOrLoopback = (text: string) => {
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}
const LOOPBACK = 'must be https; plain http only on loopback'
const SAFE = 'must have no dot segments, no encoded slashes and only percent-encoded UTF-8 in its path'
const isNoExample = (text: string) => !/^your-[a-z.]+\.example\.net$/.test(new URL(text).hostname)
const EXAMPLE = 'is still the placeholder of the example'

/** `https://host[:port]`, or plain http on a loopback address. */
export const publicOrigin = anyOrigin.refine(isHttpsOrLoopback, LOOPBACK).transform(originOf)

export const upstreamOrigin = publicOrigin.refine(isNoExample, EXAMPLE)

const baseUrl = anyBase.refine(isHttpsOrLoopback, LOOPBACK).refine(isSafeBase, SAFE)

/** As `upstreamOrigin`, but a path is allowed; without a slash at the end. */
export const upstreamBaseUrl = baseUrl
  .refine(isNoExample, EXAMPLE)
  .transform((text) => originOf(text) + pathOf(text))

/** Plain http is allowed: a collector is usually on the same host or network. Without a slash at the end. */
export const collectorUrl = anyBase.transform((text) => originOf(text) + pathOf(text))

/**
 * One of `SSO_REDIRECTS` or `RETURN_TO`: a target is allowed if it has this origin, and this path or one below it. The
 * path begins with a slash, and ends with one only if it is the root. Compare whole segments.
 */
export const redirectPrefix = baseUrl.transform((text) => ({
  origin: originOf(text),
  pathPrefix: pathOf(text) || '/',
}))

const OWN_PARAMETERS = ['stateToken', 'returnTo', 'prompt', 'amr', 'maxAuthAge']
const isWithoutOwn = (text: string) => !OWN_PARAMETERS.some((name) => new URL(text).searchParams.has(name))

/** A path, a query and a fragment are allowed. */
export const pageUrl = url(String.raw`${HOST}([/?#][^\s\\]*)?`, 'an absolute URL without user name')
  .refine(isWithoutOwn, `must have none of ${OWN_PARAMETERS.join()} in its query: they are the broker's`)
  .transform((text) => new URL(text).href)

/** The egress proxy; user and password are allowed. */
export const proxyUrl = url(
  String.raw`([^\s\\/?#]*@)?${HOST}/?`,
  'an http or https URL without path',
).transform((text) => new URL(text).href)

/** Dot segments and their encoded forms, `%2f` and `%5c`, which some servers treat as slashes, and broken encoding. */
export function hasUnsafePath(path: string): boolean {
  try {
    decodeURIComponent(path)
  } catch {
    return true // not percent-encoded UTF-8
  }
  return /(^|\/)(\.|%2e){1,2}(\/|$)/i.test(path) || /%2f|%5c|\\|\/\//i.test(path)
}
