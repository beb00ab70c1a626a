import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { createSeal, type MasterKeys } from '../crypto/keys.ts'
import { readCookie } from '../http/cookies.ts'
import type { HandedOverSession } from '../session/session.ts'

export interface ApplicationCookieOptions {
  readonly masterKeys: MasterKeys
  readonly secure: boolean
  /** As of the session cookie. */
  readonly sameSite: 'lax' | 'strict'
}

export type ApplicationCookie = ReturnType<typeof createApplicationCookie>

/** Follows the id of a session. An id has other characters only. */
const KEY_PROVED = '+key'

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
    setCookie: ({ sessionId, isKeyProved }: HandedOverSession, hostname: string) =>
      stringifySetCookie(name, seal.seal(sessionId + (isKeyProved ? KEY_PROVED : ''), hostname), {
        path: '/',
        httpOnly: true,
        secure,
        sameSite,
      }),

    /** undefined: no cookie of this host. */
    read(req: IncomingMessage, hostname: string): HandedOverSession | undefined {
      const value = valueIn(req)
      const text = value === undefined ? undefined : seal.open(value, hostname)
      if (text === undefined) return undefined
      const isKeyProved = text.endsWith(KEY_PROVED)
      return { sessionId: isKeyProved ? text.slice(0, -KEY_PROVED.length) : text, isKeyProved }
    },
  }
}
