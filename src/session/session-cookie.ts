import { createSecretKey, type KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { sign, unsign } from 'cookie-signature'
import { type LabelledKey, labelledKeys, type MasterKeys } from '../crypto/keys.ts'
import { readCookie } from '../http/cookies.ts'

/** The session cookie, in the form of express-session: `s:<id>.<signature>`. */
export interface SessionCookie {
  readonly name: string
  readonly attributes: SessionCookieAttributes
  /** The signing keys, the newest first; another list once they were rotated. */
  secrets(): readonly [KeyObject, ...KeyObject[]]
  /** The `Set-Cookie` header that opens a session in the browser. */
  opening(id: string): string
  /** The `Set-Cookie` header that ends it there. */
  closing(): string
  isIn(req: IncomingMessage): boolean
  /** The session id of a well-signed cookie; says nothing of whether that session still exists. */
  idIn(req: IncomingMessage): string | undefined
}

export interface SessionCookieOptions {
  readonly masterKeys: MasterKeys
  /** By PUBLIC_URL: `__Host-` and Secure over https; neither on http://localhost. */
  readonly secure: boolean
  readonly sameSite: 'lax' | 'strict'
}

interface SessionCookieAttributes extends Pick<SessionCookieOptions, 'secure' | 'sameSite'> {
  readonly path: '/'
  readonly httpOnly: true
}

const SIGNED = 's:'

export function createSessionCookie({ masterKeys, secure, sameSite }: SessionCookieOptions): SessionCookie {
  const name = secure ? '__Host-gatehouse' : 'gatehouse'
  const attributes: SessionCookieAttributes = { path: '/', httpOnly: true, secure, sameSite }
  const valueIn = readCookie(name)
  const secrets = derivedFrom(
    labelledKeys(masterKeys, 'sign/session-cookie'),
    ([newest, ...older]) => [secretOf(newest), ...older.map(secretOf)] as const,
  )

  return {
    name,
    attributes,
    secrets,
    opening: (id) => stringifySetCookie(name, SIGNED + sign(id, secrets()[0]), attributes),
    closing: () => stringifySetCookie(name, '', { ...attributes, maxAge: 0 }),
    isIn: (req) => valueIn(req) !== undefined,
    idIn(req) {
      const value = valueIn(req)
      if (value?.startsWith(SIGNED) !== true) return undefined
      const signed = value.slice(SIGNED.length)
      const ids = secrets().map((secret) => unsign(signed, secret))
      return ids.find((id) => id !== false)
    },
  }
}

/** What is derived from something that seldom changes: made anew only when it did. */
export function derivedFrom<Source, Derived>(
  source: () => Source,
  derive: (source: Source) => Derived,
): () => Derived {
  let last: { readonly from: Source; readonly derived: Derived } | undefined
  return () => {
    const from = source()
    if (last?.from !== from) last = { from, derived: derive(from) }
    return last.derived
  }
}

/** express-session and cookie-signature sign with text: the key's bytes in base64url. */
function secretOf({ key }: LabelledKey): KeyObject {
  return createSecretKey(key.export().toString('base64url'), 'utf8')
}
