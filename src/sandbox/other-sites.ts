import { isIP } from 'node:net'
import type { RequestHandler } from 'express'

const LOOPBACK = /^(::ffff:)?127\.|^::1$/
const LOCAL_PAGES = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * A page of another site must not control the sandbox of a developer who visits it, not even if the site's name leads to this
 * machine (DNS rebinding). If the sandbox listens on another address, it may have any name.
 */
export const refuseOtherSites: RequestHandler = (req, res, next) => {
  const { origin, host, 'sec-fetch-site': site } = req.headers
  const hostname = hostnameOf(`http://${host}`)
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
  const isOwnName = isAddress || hostname === 'localhost' || !LOOPBACK.test(req.socket.localAddress ?? '')
  // browsers send it only over https, where such a name has no certificate, and to localhost
  if (site === 'same-origin') return next()
  if (isOwnName && (origin === undefined || LOCAL_PAGES.has(hostnameOf(origin)))) return next()
  res.status(403).json({ error: 'only pages on localhost may send this request' })
}

function hostnameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : ''
}
