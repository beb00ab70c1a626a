import type { Request, Response } from 'express'
import session from 'express-session'
import type { SessionsOptions } from './session.ts'
import { derivedFrom } from './session-cookie.ts'
import type { SessionDevice } from './session-device.ts'
import { newSessionId, type SessionStore } from './session-store.ts'

/** Reads the session of a request into `req.session`; a store out of reach is 503. */
export type LoadSession = (req: Request, res: Response) => Promise<void>

const DONE = Promise.resolve()

/**
 * express-session on connect-redis. By itself it sets no cookie and saves nothing: a session is opened in the commit of a sign-in
 * step (prepare-session.ts), and extended before the answer (sessions.ts). It is not called for a request without a session
 * cookie, for which it would only generate a session that is never saved.
 */
export function createLoadSession(
  { cookie }: Pick<SessionsOptions, 'cookie'>,
  store: SessionStore,
  device: SessionDevice,
): LoadSession {
  const middleware = derivedFrom(cookie.secrets, (secrets) =>
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
    if (loadedFrom !== undefined || !cookie.isIn(req)) return DONE
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
