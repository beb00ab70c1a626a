import { createSecretKey, type KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { sign, unsign } from 'cookie-signature'
import { type LabelledKey, labelledKeys, type MasterKeys } from '../crypto/keys.ts'
import { type CookieNames, cookieNames } from '../http/cookie-names.ts'
import { readCookie } from '../http/cookies.ts'

export interface SessionCookieOptions extends CookieNames {
  readonly masterKeys: MasterKeys
  readonly sameSite: 'lax' | 'strict'
}

const SIGNED = 's:'

export type SessionCookie = ReturnType<typeof createSessionCookie>

/** The session cookie, in the format of express-session: `s:<id>.<signature>`. */
export function createSessionCookie({ masterKeys, sameSite, ...prefixes }: SessionCookieOptions) {
  const [name, ...otherNames] = cookieNames('gatehouse', prefixes)
  const attributes = { path: '/', httpOnly: true, secure: prefixes.secure, sameSite }
  const readers = [name, ...otherNames].map((each) => ({ name: each, valueIn: readCookie(each) }))
  const [newest, ...older] = labelledKeys(masterKeys, 'sign/session-cookie')
  const secrets = [secretOf(newest), ...older.map(secretOf)] as const
  const deletion = (ofName: string) => stringifySetCookie(ofName, '', { ...attributes, maxAge: 0 })

  const readId = (value: string | undefined): string | undefined => {
    if (value?.startsWith(SIGNED) !== true) return undefined
    const signed = value.slice(SIGNED.length)
    const ids = secrets.map((secret) => unsign(signed, secret))
    return ids.find((id) => id !== false)
  }

  /** Of a request that has several, the first one whose signature is right. */
  const find = (req: IncomingMessage) => {
    let found: { readonly name: string; readonly value: string } | undefined
    for (const { name: each, valueIn } of readers) {
      const value = valueIn(req)
      if (value === undefined) continue
      if (found === undefined || (readId(found.value) === undefined && readId(value) !== undefined))
        found = { name: each, value }
    }
    return found
  }

  return {
    name,
    /** All names that are read. */
    names: [name, ...otherNames] as const,
    attributes,
    /** The signing keys, the newest first. */
    secrets,
    /** The `Set-Cookie` header that sets the cookie. */
    setCookie: (id: string) => stringifySetCookie(name, SIGNED + sign(id, secrets[0]), attributes),
    /** The `Set-Cookie` header that deletes the cookie. */
    clearCookie: () => deletion(name),
    /**
     * The `Set-Cookie` headers that delete the cookie under other names, as far as the request has
     * it.
     */
    clearOthers: (req: IncomingMessage) =>
      readers
        .filter((reader) => reader.name !== name && reader.valueIn(req) !== undefined)
        .map((reader) => deletion(reader.name)),
    /** The name under which the request has the cookie, if it does. */
    nameIn: (req: IncomingMessage) => find(req)?.name,
    isPresent: (req: IncomingMessage) => readers.some(({ valueIn }) => valueIn(req) !== undefined),
    /** The session id of a correctly signed cookie. The session may not exist any more. */
    idIn: (req: IncomingMessage) => readId(find(req)?.value),
  }
}

/**
 * express-session and cookie-signature sign with text, so the key's bytes are encoded in base64url.
 */
function secretOf({ key }: LabelledKey): KeyObject {
  return createSecretKey(key.export().toString('base64url'), 'utf8')
}
