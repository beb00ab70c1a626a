import type { RequestHandler } from 'express'

/**
 * Composes middleware into one. Express's router searches for the next layer after each, with closures and a match for
 * every one: for the ten that all requests pass, that was a tenth of a session check (docs/performance.md).
 */
export function composeMiddleware(...handlers: readonly RequestHandler[]): RequestHandler {
  return function composed(req, res, next) {
    let at = 0
    const advance = (error?: unknown): void => {
      const handler = error ? undefined : handlers[at++]
      if (handler === undefined) {
        next(error)
        return
      }
      try {
        const pending: unknown = handler(req, res, advance)
        // as in Express: a rejection without a reason is an error too
        if (pending instanceof Promise) pending.catch((error) => next(error || new Error('rejected promise')))
      } catch (thrown) {
        next(thrown)
      }
    }
    advance()
  }
}
