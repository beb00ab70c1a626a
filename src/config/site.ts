import { createRequire } from 'node:module'
import type tldts from 'tldts'

const require = createRequire(import.meta.url)

/**
 * By scheme and registrable domain. A host without one (an address, localhost, a public suffix) is
 * its own site.
 */
export function siteOf(origin: string): string {
  const { protocol, hostname } = new URL(origin)
  // loaded only here: few portals need its 2 MB
  const { getDomain }: typeof tldts = require('tldts')
  return `${protocol}//${getDomain(hostname, { allowPrivateDomains: true }) ?? hostname}`
}
