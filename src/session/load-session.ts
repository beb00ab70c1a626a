import { RedisStore } from 'connect-redis'
import type { Request, RequestHandler, Response } from 'express'
import session from 'express-session'
import type { Session } from './session.ts'
import { decodeSession } from './session-codec.ts'
import type { SessionCookie } from './session-cookie.ts'
import type { SessionRecords } from './session-records.ts'

/** Reads the session of a request through express-session on connect-redis; a store out of reach throws 503. */
export type LoadSession = (req: Request) => Promise<Session | undefined>

/**
 * express-session only ever reads here. It never creates, moves or saves a session and never sets a cookie: it
 * would do so on error answers too, and after the answer has begun. It runs only where a session is asked for.
 */
export function createLoadSession(records: SessionRecords, cookie: SessionCookie): LoadSession {
  const middleware = sessionMiddleware(records, cookie)
  const loaded = new WeakMap<Request, Promise<Session | undefined>>()

  return (req) => {
    if (!cookie.isIn(req)) return Promise.resolve(undefined)
    const known = loaded.get(req)
    if (known !== undefined) return known
    const loading = run(middleware(), req).then(() => decodeSession(req.session, req.sessionID))
    loaded.set(req, loading)
    return loading
  }
}

/** Built anew when the signing keys were rotated. */
function sessionMiddleware(records: SessionRecords, cookie: SessionCookie): () => RequestHandler {
  let builtFor: string | undefined
  let middleware: RequestHandler | undefined
  return () => {
    const secrets = cookie.secrets()
    const wanted = secrets.join()
    if (middleware === undefined || builtFor !== wanted) {
      builtFor = wanted
      middleware = session({
        name: cookie.name,
        secret: secrets,
        store: new RedisStore({ client: readOnlyClient(records), prefix: '', disableTouch: true }),
        resave: false,
        saveUninitialized: false,
        cookie: { secure: cookie.name.startsWith('__Host-') },
      })
    }
    return middleware
  }
}

/** connect-redis asks its client for one thing on this way: the record under an id. */
function readOnlyClient(records: SessionRecords) {
  return { get: async (id: string) => (await records.read(id)) ?? null }
}

/**
 * It gets an answer that nobody sends: it wraps the answer it is given, to save the session and to set the cookie at
 * its end, and would hash the session for that once more, at more than the rest of it costs.
 */
function run(middleware: RequestHandler, req: Request): Promise<void> {
  const nobodys = { writeHead() {}, end() {} } as unknown as Response
  return new Promise((resolve, reject) => {
    middleware(req, nobodys, (error?: unknown) =>
      error === undefined || error === null ? resolve() : reject(error),
    )
  })
}
