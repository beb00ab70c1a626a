import type { IncomingMessage } from 'node:http'
import { parseCookie } from 'cookie'

/**
 * Reads one cookie of a request. Of duplicates it returns the first one, as `parseCookie` does.
 * Only this cookie is parsed: 16 kB of cookies can contain 3,900 names, and a dictionary of them
 * occupies half a megabyte.
 */
export function readCookie(name: string): (req: IncomingMessage) => string | undefined {
  const pair = new RegExp(`(?:^|;)[ \\t]*(${name}[ \\t]*=[^;]*)`)
  return ({ headers }) => {
    const found = pair.exec(headers.cookie ?? '')?.[1]
    return found === undefined ? undefined : parseCookie(found)[name]
  }
}
