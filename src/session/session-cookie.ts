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
  const secrets = memoizeLast(
    labelledKeys(masterKeys, 'sign/session-cookie'),
    ([newest, ...older]) => [secretOf(newest), ...older.map(secretOf)] as const,
  )

  return {
    name,
    attributes,
    /** The signing keys, the newest first. The array is a new one after a rotation. */
    secrets,
    /** The `Set-Cookie` header that sets the cookie. */
    setCookie: (id: string) => stringifySetCookie(name, SIGNED + sign(id, secrets()[0]), attributes),
    /** The `Set-Cookie` header that deletes the cookie. */
    clearCookie: () => stringifySetCookie(name, '', { ...attributes, maxAge: 0 }),
    isPresent: (req: IncomingMessage) => valueIn(req) !== undefined,
    /** The session id of a correctly signed cookie. The session may not exist any more. */
    readId(req: IncomingMessage): string | undefined {
      const value = valueIn(req)
      if (value?.startsWith(SIGNED) !== true) return undefined
      const signed = value.slice(SIGNED.length)
      const ids = secrets().map((secret) => unsign(signed, secret))
      return ids.find((id) => id !== false)
    },
  }
}

/** Computes the result again only when the source has changed. */
function memoizeLast<Source, Derived>(
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

/** express-session and cookie-signature sign with text, so the key's bytes are encoded in base64url. */
function secretOf({ key }: LabelledKey): KeyObject {
  return createSecretKey(key.export().toString('base64url'), 'utf8')
}

/** Reads the session of a request into `req.session`. Throws 503 if the store is out of reach. */
export type LoadSession = (req: Request, res: Response) => Promise<void>

const DONE = Promise.resolve()

/**
 * Loads sessions with express-session on connect-redis, which here neither sets cookies nor saves sessions: a session is created in
 * the commit of a sign-in step, and extended before the response (sessions.ts). It is not called for requests without a session
 * cookie, because it would only generate a session that is never saved.
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
      const isValid = stored.id === req.sessionID && device.verify(req, stored.session)
      if (!isValid) Reflect.deleteProperty(req, 'session')
    })
  }
}
