import type { Request, Response } from 'express'
import type { z } from 'zod'
import type { BodyEncoding } from './body-parser.ts'

/**
 * What may send the requests of a route, and what they have. `app.ts` decides by it what runs
 * before the handler.
 *
 * - `forward-auth`: a proxy asks, with the method and the headers of the application's own request;
 * - `backend`: a backend of the portal, with a token; it has no session and no origin;
 * - `open`: a GET that any site may cause: a navigation, a look-up of public keys;
 * - `image`: a GET that pages of the same site may also read without an allowed `Origin`;
 * - `read`, `session-read`: a GET of an allowed page; without and with a session;
 * - `write`, `form`, `session-write`: another method, with a body in JSON or as a form, or none;
 * - `bound-session`: the browser itself proves its key; no page reads the response;
 * - `event-hook`: the handler reads the body itself (`createBodyReader`), after it has checked a
 *   secret.
 */
export type RouteKind =
  | 'forward-auth'
  | 'backend'
  | 'open'
  | 'image'
  | 'read'
  | 'session-read'
  | 'write'
  | 'form'
  | 'session-write'
  | 'bound-session'
  | 'event-hook'

/** A route of a listener. Modules export their routes as data; `app.ts` and `ops.ts` serve them. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** May contain `:name` segments. Also the route's name in logs and metrics. */
  readonly path: string
  readonly handle: (req: Request, res: Response) => Promise<void> | void
  /** Of the request body. Default: JSON. */
  readonly encoding?: BodyEncoding
  /** Default: `kindOf`. */
  readonly kind?: RouteKind
  /** For a GET with side effects: HEAD, which must be safe, gets 405. */
  readonly withoutHead?: true
}

/** Without a kind, a route needs no session: `read`, `write` or `form`. */
export function kindOf({ kind, method, encoding }: Omit<Route, 'handle'>): RouteKind {
  if (kind !== undefined) return kind
  if (method === 'GET') return 'read'
  return encoding === 'form' ? 'form' : 'write'
}

/**
 * An operation of the public API: its route, and the schemas that parse its requests. `routesOf`
 * adds the handlers; `openapi/` describes its responses and errors.
 */
export interface Operation extends Omit<Route, 'handle'> {
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
}

/** By operation id, which is the name in generated clients and never changes. */
export type Operations = Readonly<Record<string, Operation>>

/** The types require a handler for every operation. */
export function routesOf<Id extends string>(
  operations: Readonly<Record<Id, Operation>>,
  handlers: Readonly<Record<Id, Route['handle']>>,
): Route[] {
  const ids = Object.keys(operations) as Id[] // literals, so there are no other keys
  return ids.map((id) => ({ ...operations[id], handle: handlers[id] }))
}
