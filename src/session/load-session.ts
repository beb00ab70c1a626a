import type { Request, Response } from 'express'
import session from 'express-session'
import { createSigner } from '../crypto/keys.ts'
import { logHash } from '../login-names.ts'
import { createLogThrottle } from '../observability/log-throttle.ts'
import { auditFields, type Session, type SessionsOptions } from './session.ts'
import type { SessionCookie } from './session-cookie.ts'
import type { SessionStore } from './session-store.ts'
import { remainingMs } from './session-times.ts'

export interface LoadSessionOptions extends SessionsOptions {
  readonly sessionCookie: SessionCookie
}

/**
 * Loads sessions with express-session on connect-redis, which here neither sets cookies nor saves
 * sessions: a session is created in the commit of a sign-in step, and extended before the response
 * (sessions.ts). It is not called for requests without a session cookie, because it would only
 * generate a session that is never saved.
 */
export function createLoadSession(options: LoadSessionOptions, { expressStore: store }: SessionStore) {
  const { sessionCookie, voidTimes, metrics } = options
  const isFromItsDevice = createDeviceCheck(options)
  const middlewareFor = (name: string) =>
    session({
      name,
      secret: [...sessionCookie.secrets],
      store,
      resave: false,
      saveUninitialized: false,
      unset: 'keep',
      cookie: sessionCookie.attributes,
    })
  const middlewares = new Map(sessionCookie.names.map((name) => [name, middlewareFor(name)]))

  /** Reads the session of a request into `req.stored`. Throws 503 if the store is out of reach. */
  return async (req: Request, res: Response): Promise<void> => {
    const { sessionStore: loadedFrom }: Partial<Request> = req // set by express-session
    const middleware = middlewares.get(sessionCookie.nameIn(req) ?? '')
    if (req.stored !== undefined || loadedFrom !== undefined || middleware === undefined) return
    const loading = new Promise<void>((resolve, reject) => {
      middleware(req, res, (error?: unknown) => (error ? reject(error) : resolve()))
    })
    // express-session has checked the cookie and begun to read the record: both are one round trip
    const [voidBeforeMs] = await Promise.all([voidTimes.timeFor(req.sessionID), loading])
    const stored = req.session.stored?.()
    leaveUnchanged(req)
    const isValid =
      stored?.id === req.sessionID &&
      !voidTimes.isVoid(stored.session, voidBeforeMs) &&
      isFromItsDevice(req, stored.session) &&
      remainingMs(stored.session, options) > 0
    metrics.sessionChecks.inc({ result: isValid ? 'session' : 'no_session' })
    if (isValid) req.stored = stored
  }
}

/**
 * Leaves the record as it is, in the way that express-session documents (`unset: 'keep'`). By
 * itself it would save a session that has changed since it was read, even one that was signed out
 * meanwhile, and hash it twice at the end of each response to find out: a tenth of the CPU time of
 * a session check (S) and of forward-auth (F).
 */
function leaveUnchanged(req: { session: Request['session'] | null }): void {
  req.session = null
}

/** Repeated requests with the same two cookies are audited once a minute. */
const AUDIT_THROTTLE = { periodMs: 60_000, maxLines: 10_000 }

/** Whether the device of a request opened the session. A mismatch is counted and audited. */
function createDeviceCheck({ masterKeys, deviceCookie, log, metrics, now }: SessionsOptions) {
  const hashes = createSigner(masterKeys, 'log-hashes')
  const mayAudit = createLogThrottle({ ...AUDIT_THROTTLE, now })

  return (req: Request, session: Session): boolean => {
    const deviceId = deviceCookie.idIn(req)
    if (session.deviceId === deviceId) return true
    metrics.requestsRefused.inc({ reason: 'session_device_mismatch' })
    const deviceHash = deviceId === undefined ? undefined : logHash(hashes, deviceId)
    if (mayAudit(`${session.publicId} ${deviceHash}`))
      log.audit('session_device_mismatch', { ...auditFields(req, session), deviceHash })
    return false
  }
}
