import { isIP } from 'node:net'
import type { RequestHandler } from 'express'

const LOCAL_PAGES = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * A page of another site must not control the sandbox of a developer who visits it, not even if the
 * site's name leads to the sandbox (DNS rebinding), which a published port of a container makes
 * possible too.
 *
 * @param hosts names of the sandbox other than localhost
 */
export function refuseOtherSites(hosts: readonly string[] = []): RequestHandler {
  const ownNames = new Set(['localhost', ...hosts.map((name) => name.toLowerCase())])
  return function refuseOtherSites(req, res, next) {
    const { origin, host, 'sec-fetch-site': site } = req.headers
    const hostname = hostnameOf(`http://${host}`)
    const isOwnName = ownNames.has(hostname) || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
    // browsers send it only over https, where such a name has no certificate, and to localhost
    if (site === 'same-origin') return next()
    if (isOwnName && (origin === undefined || LOCAL_PAGES.has(hostnameOf(origin)))) return next()
    res.status(403).json({ error: 'only pages on localhost may send this request' })
  }
}

function hostnameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : ''
}
