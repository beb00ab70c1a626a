import { getDomain } from 'tldts'

/**
 * Why a page of `origin` would not get our cookies back: they are SameSite, and the two are not the same site
 * (schemeful: scheme and registrable domain, by the public suffix list, its private part too). Undefined: it would.
 */
export function whyNotSameSite(origin: string, publicOrigin: string): string | undefined {
  const [page, broker] = [new URL(origin), new URL(publicOrigin)]
  if (page.protocol !== broker.protocol) {
    return 'has another scheme than PUBLIC_URL, which makes it another site: the cookies would not come back'
  }
  if (siteOf(page.hostname) !== siteOf(broker.hostname)) {
    return 'is not on the same site as PUBLIC_URL (public suffix list): the cookies would not come back'
  }
  return undefined
}

/** Hosts without a registrable domain (addresses, localhost, a public suffix itself) are a site of their own. */
function siteOf(host: string): string {
  return getDomain(host, { allowPrivateDomains: true }) ?? host
}
