import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { createSeal, type MasterKeys } from '../crypto/keys.ts'
import { readCookie } from '../http/cookies.ts'

export interface ApplicationCookieOptions {
  readonly masterKeys: MasterKeys
  readonly secure: boolean
  /** As of the session cookie. */
  readonly sameSite: 'lax' | 'strict'
}

export type ApplicationCookie = ReturnType<typeof createApplicationCookie>

/**
 * The cookie with which applications on another host know the session: its id, sealed for this host
 * name. It is good for `/forward-auth` of that host and for nothing else, because an application
 * sees it in its requests. It stands for the device too, whose cookie that host does not get.
 */
export function createApplicationCookie({ masterKeys, secure, sameSite }: ApplicationCookieOptions) {
  const name = secure ? '__Host-gatehouse-app' : 'gatehouse-app'
  const seal = createSeal(masterKeys, 'application-cookie')
  const valueIn = readCookie(name)

  return {
    isPresent: (req: IncomingMessage) => valueIn(req) !== undefined,

    /** The `Set-Cookie` header for the host of this name. */
    setCookie: (sessionId: string, hostname: string) =>
      stringifySetCookie(name, seal.seal(sessionId, hostname), {
        path: '/',
        httpOnly: true,
        secure,
        sameSite,
      }),

    /** The session may not exist any more. undefined: no cookie of this host. */
    sessionIdIn(req: IncomingMessage, hostname: string): string | undefined {
      const value = valueIn(req)
      return value === undefined ? undefined : seal.open(value, hostname)
    },
  }
}
