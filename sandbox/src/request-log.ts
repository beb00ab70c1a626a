import type { IncomingHttpHeaders } from 'node:http'
import { type ParsedUrlQuery, parse } from 'node:querystring'
import type { Request, RequestHandler } from 'express'

/** A received request. `at` is in milliseconds; `body` is the parsed body. */
export type RecordedRequest = {
  at: number
  method: string
  path: string
  query: ParsedUrlQuery
  headers: IncomingHttpHeaders
  body: unknown
}

export type RequestLog = {
  /** The last `limit` requests, oldest first. Always the same array. */
  entries: readonly RecordedRequest[]
  clear(): void
  middleware(): RequestHandler
}

/**
 * Records requests, so that a test can check which requests reached an API.
 *
 * Mount it first, so that requests are recorded even if they are aborted or refused later. The body
 * is recorded when a body parser sets `req.body`, and is undefined if none does.
 */
export function createRequestLog({
  now = Date.now,
  limit = 10_000,
}: {
  now?: () => number
  limit?: number
} = {}): RequestLog {
  const entries: RecordedRequest[] = []
  return {
    entries,
    clear() {
      entries.length = 0
    },
    middleware() {
      return function recordRequest(req, _res, next) {
        const [path = '', query = ''] = splitOnce(req.originalUrl, '?')
        const recorded: RecordedRequest = {
          at: now(),
          method: req.method,
          path,
          query: parse(query),
          headers: { ...req.headers },
          body: undefined,
        }
        entries.push(recorded)
        if (entries.length > limit) entries.shift()
        recordBody(req, recorded)
        next()
      }
    },
  }
}

/** Body parsers assign `req.body`; a setter observes that without reading the stream. */
function recordBody(req: Request, recorded: RecordedRequest): void {
  recorded.body = req.body
  Object.defineProperty(req, 'body', {
    configurable: true,
    enumerable: true,
    get: () => recorded.body,
    set: (body: unknown) => {
      recorded.body = body
    },
  })
}

function splitOnce(text: string, separator: string): [string, string?] {
  const index = text.indexOf(separator)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}
