import { createSecretKey, type KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stringifySetCookie } from 'cookie'
import { sign, unsign } from 'cookie-signature'
import type { Request, Response } from 'express'
import session from 'express-session'
import { type LabelledKey, labelledKeys, type MasterKeys } from '../crypto/keys.ts'
import { readCookie } from '../http/cookies.ts'
import type { DeviceBinding } from './session-device.ts'
import { newSessionId, type SessionStore } from './session-store.ts'

/** The session cookie, in the form of express-session: `s:<id>.<signature>`. */
export interface SessionCookie {
  readonly name: string
  readonly attributes: SessionCookieAttributes
  /** The signing keys, the newest first; another list once they were rotated. */
  secrets(): readonly [KeyObject, ...KeyObject[]]
  /** The `Set-Cookie` header that opens a session in the browser. */
  setCookie(id: string): string
  /** The `Set-Cookie` header that ends it there. */
  clearCookie(): string
  isPresent(req: IncomingMessage): boolean
  /** The session id of a well-signed cookie; says nothing of whether that session still exists. */
  readId(req: IncomingMessage): string | undefined
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
  const secrets = memoizeLast(
    labelledKeys(masterKeys, 'sign/session-cookie'),
    ([newest, ...older]) => [secretOf(newest), ...older.map(secretOf)] as const,
  )

  return {
    name,
    attributes,
    secrets,
    setCookie: (id) => stringifySetCookie(name, SIGNED + sign(id, secrets()[0]), attributes),
    clearCookie: () => stringifySetCookie(name, '', { ...attributes, maxAge: 0 }),
    isPresent: (req) => valueIn(req) !== undefined,
    readId(req) {
      const value = valueIn(req)
      if (value?.startsWith(SIGNED) !== true) return undefined
      const signed = value.slice(SIGNED.length)
      const ids = secrets().map((secret) => unsign(signed, secret))
      return ids.find((id) => id !== false)
    },
  }
}

/** What is derived from something that seldom changes: made anew only when it did. */
export function memoizeLast<Source, Derived>(
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

/** Reads the session of a request into `req.session`; a store out of reach is 503. */
export type LoadSession = (req: Request, res: Response) => Promise<void>

const DONE = Promise.resolve()

/**
 * express-session on connect-redis. By itself it sets no cookie and saves nothing: a session is opened in the commit of a sign-in
 * step, and extended before the answer (sessions.ts). It is not called for a request without a session
 * cookie, for which it would only generate a session that is never saved.
 */
export function createLoadSession(
  cookie: SessionCookie,
  store: SessionStore,
  device: DeviceBinding,
): LoadSession {
  const middleware = memoizeLast(cookie.secrets, (secrets) =>
    session({
      name: cookie.name,
      secret: [...secrets],
      store: store.redisStore(),
      genid: newSessionId,
      resave: false,
      saveUninitialized: false,
      cookie: cookie.attributes,
    }),
  )

  return (req, res) => {
    const { sessionStore: loadedFrom }: Partial<Request> = req
    if (loadedFrom !== undefined || !cookie.isPresent(req)) return DONE
    const loading = new Promise<void>((resolve, reject) => {
      middleware()(req, res, (error?: unknown) => (error ? reject(error) : resolve()))
    })
    return loading.then(() => {
      const stored = req.session?.stored
      if (stored === undefined) return
      const isOwn = stored.id === req.sessionID && device.isOwn(req, stored.session)
      if (!isOwn) Reflect.deleteProperty(req, 'session')
    })
  }
}
