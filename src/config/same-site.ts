import { getDomain } from 'tldts'

/**
 * Why a page of `origin` could not use the cookies, which are SameSite: the two origins are not the same site (scheme and registrable
 * domain, by the public suffix list with its private part). Undefined if they are.
 */
export function sameSiteProblem(origin: string, publicOrigin: string): string | undefined {
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
