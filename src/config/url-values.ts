import { z } from 'zod'

/** No wildcards, and no dot at the end. */
const HOST = /^(\[.+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)$/

type Part = 'username' | 'password' | 'pathname' | 'search' | 'hash'

/** An http or https URL without these parts. */
const url = (form: string, ...without: Part[]) => {
  const error = `must be ${form}, such as https://host.example.com`
  return z
    .url({ protocol: /^https?$/, hostname: HOST, error })
    .transform((text) => new URL(text))
    .refine((found) => without.every((part) => found[part].replace(/^\/$/, '') === ''), error)
}

const isHttpsOrLoopback = ({ protocol, hostname }: URL) =>
  protocol === 'https:' || /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
/** Browsers look up no name below localhost; the system of the broker might (RFC 6761 §6.3). */
const isHttpsOrLoopbackInBrowsers = (found: URL) =>
  isHttpsOrLoopback(found) || found.hostname.endsWith('.localhost')
const LOOPBACK = 'must be https; plain http only on loopback'
const isNoExample = ({ hostname }: URL) => !/^your-[a-z.]+\.example\.net$/.test(hostname)
const EXAMPLE = 'is still the placeholder of the example'
const pathOf = ({ pathname }: URL) => pathname.replace(/\/$/, '')
const withoutSlash = (found: URL) => found.origin + pathOf(found)

const BASE = ['username', 'password', 'search', 'hash'] as const
const anyOrigin = url('an origin only: scheme, host and port', ...BASE, 'pathname')
const anyBase = url('a URL without user name, query and fragment', ...BASE)

export const publicOrigin = anyOrigin.refine(isHttpsOrLoopbackInBrowsers, LOOPBACK).transform(withoutSlash)
export const upstreamOrigin = anyOrigin
  .refine(isHttpsOrLoopback, LOOPBACK)
  .refine(isNoExample, EXAMPLE)
  .transform(withoutSlash)
export const upstreamBaseUrl = anyBase
  .refine(isHttpsOrLoopback, LOOPBACK)
  .refine(isNoExample, EXAMPLE)
  .transform(withoutSlash)

/** Plain http is allowed: a collector is usually on the same host or network. */
export const collectorUrl = anyBase.transform(withoutSlash)

/**
 * One of `SSO_REDIRECTS` or `RETURN_TO`: a target is allowed if it has this origin, and this path
 * or one below it. The path begins with a slash, and ends with one only if it is the root. Compare
 * whole segments.
 */
export const redirectPrefix = anyBase.refine(isHttpsOrLoopbackInBrowsers, LOOPBACK).transform((found) => ({
  origin: found.origin,
  pathPrefix: pathOf(found) || '/',
}))

const OWN_PARAMETERS = ['stateToken', 'returnTo', 'prompt', 'amr', 'maxAuthAge', 'handover', 'reason']

export const pageUrl = url('an absolute URL without user name', 'username', 'password')
  .refine(
    ({ searchParams }) => !OWN_PARAMETERS.some((name) => searchParams.has(name)),
    `must have none of ${OWN_PARAMETERS.join()} in its query: they are the broker's`,
  )
  .transform(({ href }) => href)

/** The egress proxy; user and password are allowed, percent-encoded, as the client decodes them. */
export const proxyUrl = url('an http or https URL without path', 'pathname', 'search', 'hash')
  .refine(
    ({ username, password }) => isPercentEncoded(username) && isPercentEncoded(password),
    'must have a percent-encoded user name and password: write % as %25',
  )
  .transform(({ href }) => href)

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
