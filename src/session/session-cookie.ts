import { createSecretKey, type KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { sign, unsign } from 'cookie-signature'
import { type LabelledKey, labelledKeys, type MasterKeys } from '../crypto/keys.ts'
import { readCookie } from '../http/cookies.ts'

export interface SessionCookieOptions {
  readonly masterKeys: MasterKeys
  /** `__Host-` and Secure if PUBLIC_URL is https; neither for http://localhost. */
  readonly secure: boolean
  readonly sameSite: 'lax' | 'strict'
}

const SIGNED = 's:'

export type SessionCookie = ReturnType<typeof createSessionCookie>

/** The session cookie, in the format of express-session: `s:<id>.<signature>`. */
export function createSessionCookie({ masterKeys, secure, sameSite }: SessionCookieOptions) {
  const name = secure ? '__Host-gatehouse' : 'gatehouse'
  const attributes = { path: '/', httpOnly: true, secure, sameSite }
  const valueIn = readCookie(name)
  const [newest, ...older] = labelledKeys(masterKeys, 'sign/session-cookie')
  const secrets = [secretOf(newest), ...older.map(secretOf)] as const

  return {
    name,
    attributes,
    /** The signing keys, the newest first. */
    secrets,
    /** The `Set-Cookie` header that sets the cookie. */
    setCookie: (id: string) => stringifySetCookie(name, SIGNED + sign(id, secrets[0]), attributes),
    /** The `Set-Cookie` header that deletes the cookie. */
    clearCookie: () => stringifySetCookie(name, '', { ...attributes, maxAge: 0 }),
    isPresent: (req: IncomingMessage) => valueIn(req) !== undefined,
    /** The session id of a correctly signed cookie. The session may not exist any more. */
    idIn(req: IncomingMessage): string | undefined {
      const value = valueIn(req)
      if (value?.startsWith(SIGNED) !== true) return undefined
      const signed = value.slice(SIGNED.length)
      const ids = secrets.map((secret) => unsign(signed, secret))
      return ids.find((id) => id !== false)
    },
  }
}

/**
 * express-session and cookie-signature sign with text, so the key's bytes are encoded in base64url.
 */
function secretOf({ key }: LabelledKey): KeyObject {
  return createSecretKey(key.export().toString('base64url'), 'utf8')
}
