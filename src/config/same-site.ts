import { getDomain } from 'tldts'

/**
 * Why a page of `origin` could not use the SameSite cookies: the two origins are not the same site (scheme and
 * registrable domain, by the public suffix list with its private section). Undefined if they are.
 */
export function sameSiteProblem(origin: string, publicOrigin: string): string | undefined {
  const [page, broker] = [new URL(origin), new URL(publicOrigin)]
  if (page.protocol !== broker.protocol) {
    return 'has another scheme than PUBLIC_URL, so it is another site: browsers would not send the cookies'
  }
  if (siteOf(page.hostname) !== siteOf(broker.hostname)) {
    return 'is not on the same site as PUBLIC_URL (public suffix list): browsers would not send the cookies'
  }
  return undefined
}

/** A host without a registrable domain (an address, localhost, a public suffix) is its own site. */
function siteOf(host: string): string {
  return getDomain(host, { allowPrivateDomains: true }) ?? host
}
