import { createSecretKey, type KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { sign, unsign } from 'cookie-signature'
import { type LabelledKey, labelledKeys, type MasterKeys } from '../crypto/keys.ts'
import { readCookie } from '../http/cookies.ts'

/** The session cookie, in the form that express-session and its kin use: `s:<id>.<signature>`. */
export interface SessionCookie {
  readonly name: string
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

const SIGNED = 's:'

export function createSessionCookie({ masterKeys, secure, sameSite }: SessionCookieOptions): SessionCookie {
  const name = secure ? '__Host-gatehouse' : 'gatehouse'
  const keys = labelledKeys(masterKeys, 'sign/session-cookie')
  const secrets = asSecrets(keys)
  const attributes = { path: '/', httpOnly: true, secure, sameSite }
  const valueIn = readCookie(name)

  return {
    name,
    opening: (id) => stringifySetCookie(name, SIGNED + sign(id, secrets()[0]), attributes),
    closing: () => stringifySetCookie(name, '', { ...attributes, maxAge: 0 }),
    isIn: (req) => valueIn(req) !== undefined,
    idIn(req) {
      const value = valueIn(req)
      if (value?.startsWith(SIGNED) !== true) return undefined
      const signed = value.slice(SIGNED.length)
      for (const secret of secrets()) {
        const id = unsign(signed, secret)
        if (id !== false) return id
      }
      return undefined
    },
  }
}

type OneOrMore<T> = readonly [T, ...T[]]

/** The keys in the form that cookie-signature takes; made anew only when they changed. */
function asSecrets(keys: () => OneOrMore<LabelledKey>): () => OneOrMore<KeyObject> {
  let from: OneOrMore<LabelledKey> | undefined
  let secrets: OneOrMore<KeyObject> | undefined
  return () => {
    const current = keys()
    if (secrets !== undefined && current === from) return secrets
    const [newest, ...older] = current
    from = current
    secrets = [secretOf(newest), ...older.map(secretOf)]
    return secrets
  }
}

/** cookie-signature signs with text: the key's bytes in base64url. */
function secretOf({ key }: LabelledKey): KeyObject {
  return createSecretKey(key.export().toString('base64url'), 'utf8')
}
