/**
 * Okta's sign-out: ends the browser's session at the org, whoever's it is, and sends the browser
 * on. Okta redirects only to its Trusted Origins.
 */
export function oktaSignOutUrl(upstreamOrigin: string, returnTo: string): string {
  const url = new URL('/login/signout', upstreamOrigin)
  url.searchParams.set('fromURI', returnTo)
  return url.href
}
