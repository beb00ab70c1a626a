import type { Request, Response } from 'express'

/**
 * Express middleware that may refuse a request. It returns what `next` returns: where guards run
 * before a handler (`guarded`), that is the end of the handler, for which a guard can wait.
 */
export type Guard = (req: Request, res: Response, next: (error?: unknown) => unknown) => unknown

/**
 * A row of a table of guards (`createGuards` in app.ts): one guard, and the columns (kinds of
 * routes) for which it runs.
 */
export interface GuardRow<Column extends string> {
  readonly of: readonly (Column | undefined)[]
  readonly guard: Guard
}

/** The guards of a column, in the order of the rows. */
export function guardsOf<Column extends string>(rows: readonly GuardRow<Column>[], column: Column): Guard[] {
  return rows.filter(({ of }) => of.includes(column)).map(({ guard }) => guard)
}

/**
 * One guard that runs the guards in their order, and then `next`; as in Express, an error that one
 * passes to its `next` skips the others. A layer of Express for each would cost more.
 */
export function composed(guards: readonly Guard[]): Guard {
  return guards.reduceRight<Guard>(
    (rest, guard) => (req, res, next) =>
      guard(req, res, (error) => (error ? next(error) : rest(req, res, next))),
    (_req, _res, next) => next(),
  )
}

/** The guards in their order, and then `handle`. */
export function guarded(guards: readonly Guard[], handle: (req: Request, res: Response) => unknown): Guard {
  return composed([...guards, handle])
}
