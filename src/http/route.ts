import type { Request, Response } from 'express'
import type { z } from 'zod'
import type { BodyEncoding } from './body-parser.ts'

/** A route of a listener. Modules export their routes as data; `app.ts` and `ops.ts` serve them. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** May contain `:name` segments. Also the route's name in logs and metrics. */
  readonly path: string
  readonly handle: (req: Request, res: Response) => Promise<void> | void
  /** Of the request body. Default: JSON. */
  readonly encoding?: BodyEncoding
  /** The handler reads the body itself, after checks of its own (`createBodyReader`). */
  readonly readsBody?: true
  /** For a GET with side effects: HEAD, which must be safe, gets 405. */
  readonly withoutHead?: true
  /**
   * For a GET: the pages that may read it without an allowed `Origin`, besides those of the same origin.
   * `same-site`: an image for pages of the same site. `any-site`: a navigation, or a proxy's sub-request, which has the
   * headers of the application's own request.
   */
  readonly readableFrom?: 'same-site' | 'any-site'
}

/**
 * An operation of the public API: its route, and the schemas that parse its requests. `routesOf` adds the handlers; `openapi/`
 * describes its responses and errors.
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
