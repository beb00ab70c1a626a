import type { RequestHandler } from 'express'

/**
 * Several handlers as one. Express's router looks for the next layer anew after each of them, with closures and a match
 * for every one: for the ten that all requests pass, that was a tenth of a session check (docs/performance.md).
 */
export function inOrder(...handlers: readonly RequestHandler[]): RequestHandler {
  return function inOrder(req, res, next) {
    let at = 0
    const advance = (error?: unknown): void => {
      const handler = error ? undefined : handlers[at++]
      if (handler === undefined) {
        next(error)
        return
      }
      try {
        const pending: unknown = handler(req, res, advance)
        // as in Express: a rejection without a reason is an error all the same
        if (pending instanceof Promise) pending.catch((error) => next(error || new Error('rejected promise')))
      } catch (thrown) {
        next(thrown)
      }
    }
    advance()
  }
}
