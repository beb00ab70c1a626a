import type { Request, Response } from 'express'
import session from 'express-session'
import type { DeviceBinding } from './device-binding.ts'
import type { SessionCookie } from './session-cookie.ts'
import { newSessionId, type SessionStore } from './session-store.ts'

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
  { expressStore: store, toError }: SessionStore,
  device: DeviceBinding,
): LoadSession {
  const middleware = session({
    name: cookie.name,
    secret: [...cookie.secrets],
    store,
    genid: newSessionId,
    resave: false,
    saveUninitialized: false,
    cookie: cookie.attributes,
  })

  return (req, res) => {
    const { sessionStore: loadedFrom }: Partial<Request> = req
    if (loadedFrom !== undefined || !cookie.isPresent(req)) return DONE
    const loading = new Promise<void>((resolve, reject) => {
      middleware(req, res, (error?: unknown) => (error ? reject(toError(error)) : resolve()))
    })
    return loading.then(() => {
      const stored = req.session?.stored
      if (stored === undefined) return
      const isValid = stored.id === req.sessionID && device.verify(req, stored.session)
      if (!isValid) Reflect.deleteProperty(req, 'session')
    })
  }
}
