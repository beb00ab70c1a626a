import type { IncomingMessage } from 'node:http'
import { parseCookie } from 'cookie'

/**
 * Reads one cookie of a request; of equal names the first, as `parseCookie` does. Only that one is parsed: 16 kB of cookies
 * can be 3,900 names, whose dictionary would occupy half a megabyte as long as somebody has it.
 */
export function readCookie(name: string): (req: IncomingMessage) => string | undefined {
  const pair = new RegExp(`(?:^|;)[ \\t]*(${name}[ \\t]*=[^;]*)`)
  return ({ headers }) => {
    const found = pair.exec(headers.cookie ?? '')?.[1]
    return found === undefined ? undefined : parseCookie(found)[name]
  }
}
