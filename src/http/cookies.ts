import type { IncomingMessage } from 'node:http'
import { type Cookies, parseCookie } from 'cookie'

const parsed = new WeakMap<IncomingMessage, Cookies>()

/** What the request's `Cookie` header says, by name; of equal names the first. Several rooms ask: it is parsed once. */
export function cookiesOf(req: IncomingMessage): Cookies {
  const known = parsed.get(req)
  if (known !== undefined) return known
  const cookies = parseCookie(req.headers.cookie ?? '')
  parsed.set(req, cookies)
  return cookies
}
