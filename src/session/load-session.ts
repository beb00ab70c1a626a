import { RedisStore } from 'connect-redis'
import type { Request, RequestHandler, Response } from 'express'
import session, { type SessionData } from 'express-session'
import type { Session } from './session.ts'
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
    // express-session leaves a request alone whose target has no path (`*`)
    const loading = run(middleware(), req).then(() => (req as Partial<Request>).session?.found?.session)
    loaded.set(req, loading)
    return loading
  }
}

/** Built anew when the signing keys were rotated. */
function sessionMiddleware(records: SessionRecords, cookie: SessionCookie): () => RequestHandler {
  let builtFor: readonly string[] | undefined
  let middleware: RequestHandler | undefined
  return () => {
    const secrets = cookie.secrets()
    if (middleware === undefined || builtFor !== secrets) {
      builtFor = secrets
      middleware = session({
        name: cookie.name,
        secret: [...secrets],
        store: new RedisStore({
          client: { get: async (id: string) => (await records.read(id)) ?? null }, // all that it asks for on this way
          serializer: { parse: asFound, stringify: () => '' },
          prefix: '',
          disableTouch: true,
        }),
        resave: false,
        saveUninitialized: false,
        cookie: { secure: cookie.name.startsWith('__Host-') },
      })
    }
    return middleware
  }
}

/** connect-redis hands on what its client found. It is no text any more: reading and checking are one in `records`. */
function asFound(session: unknown): SessionData {
  return { cookie: { originalMaxAge: null }, found: new Found(session as Session) }
}

/**
 * A session that was read and checked already. In JSON there is nothing of it: express-session makes JSON of every
 * session that it is given, to hash it and see later whether it has changed, and that cost more than reading it.
 */
class Found {
  readonly session: Session
  constructor(session: Session) {
    this.session = session
  }
  toJSON() {
    return undefined
  }
}

declare module 'express-session' {
  interface SessionData {
    found?: Found
  }
}

/**
 * The answer that express-session gets, and that nobody sends: it wraps the answer it is given, to save the session and
 * to set the cookie at its end, and would hash the session for that once more, at more than the rest of it costs.
 *
 * A class: methods of an object literal, once replaced, kept every request alive until the next full collection
 * (docs/performance.md).
 */
class NobodysAnswer {
  writeHead() {}
  end() {}
}

function run(middleware: RequestHandler, req: Request): Promise<void> {
  const nobodys = new NobodysAnswer() as unknown as Response
  return new Promise((resolve, reject) => {
    middleware(req, nobodys, (error?: unknown) =>
      error === undefined || error === null ? resolve() : reject(error),
    )
  })
}
