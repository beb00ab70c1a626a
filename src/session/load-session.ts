import type { Request, Response } from 'express'
import session from 'express-session'
import { createSigner } from '../crypto/keys.ts'
import { logHash } from '../login-names.ts'
import { createLogThrottle } from '../observability/log-throttle.ts'
import {
  auditFields,
  newSessionId,
  type Session,
  type SessionStore,
  type SessionsOptions,
} from './session.ts'
import type { SessionCookie } from './session-cookie.ts'

export interface LoadSessionOptions extends SessionsOptions {
  readonly cookie: SessionCookie
}

const DONE = Promise.resolve()

/**
 * Loads sessions with express-session on connect-redis, which here neither sets cookies nor saves sessions: a session is created in
 * the commit of a sign-in step, and extended before the response (sessions.ts). It is not called for requests without a session
 * cookie, because it would only generate a session that is never saved.
 */
export function createLoadSession(
  options: LoadSessionOptions,
  { expressStore: store, toError }: SessionStore,
) {
  const { cookie, voidTimes } = options
  const { traced } = options.store
  const isFromItsDevice = createDeviceCheck(options)
  const middleware = session({
    name: cookie.name,
    secret: [...cookie.secrets],
    store,
    genid: () => newSessionId(''), // it has no user, and is never saved
    resave: false,
    saveUninitialized: false,
    cookie: cookie.attributes,
  })

  /** Reads the session of a request into `req.stored`. Throws 503 if the store is out of reach. */
  return (req: Request, res: Response): Promise<void> => {
    const { sessionStore: loadedFrom }: Partial<Request> = req
    if (loadedFrom !== undefined || !cookie.isPresent(req)) return DONE
    const loading = new Promise<void>((resolve, reject) => {
      middleware(req, res, (error?: unknown) => (error ? reject(toError(error)) : resolve()))
    })
    // express-session has checked the cookie and begun to read the record: both are one round trip
    return Promise.all([voidTimes.timeFor(req.sessionID), traced(loading)]).then(([voidBeforeMs]) => {
      const stored = req.session?.stored
      // it is never saved, so express-session need not look for changes at the end. V8 is slow with objects after a `delete`
      Object.assign(req, { session: undefined })
      if (stored === undefined) return
      const { id, session } = stored
      const isValid =
        id === req.sessionID && !voidTimes.isVoid(session, voidBeforeMs) && isFromItsDevice(req, session)
      if (isValid) req.stored = stored
    })
  }
}

/** Repeated requests with the same two cookies are audited once a minute. */
const AUDIT_THROTTLE = { periodMs: 60_000, maxLines: 10_000 }

/** Whether the device of a request opened the session. A mismatch is counted and audited. */
function createDeviceCheck({ masterKeys, readDeviceId, log, metrics, now }: SessionsOptions) {
  const hashes = createSigner(masterKeys, 'log-hashes')
  const mayAudit = createLogThrottle({ ...AUDIT_THROTTLE, now })

  return (req: Request, session: Session): boolean => {
    const deviceId = readDeviceId(req)
    if (session.deviceId === deviceId) return true
    metrics.requestsRefused.inc({ reason: 'session_device_mismatch' })
    const deviceHash = deviceId === undefined ? undefined : logHash(hashes, deviceId)
    if (mayAudit(`${session.publicId} ${deviceHash}`))
      log.audit('session_device_mismatch', { ...auditFields(req, session), deviceHash })
    return false
  }
}
