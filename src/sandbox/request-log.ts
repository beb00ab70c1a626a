import type { IncomingHttpHeaders } from 'node:http'
import { type ParsedUrlQuery, parse } from 'node:querystring'
import type { Request, RequestHandler } from 'express'

/** One request as it came in. `at` is in milliseconds; `body` is what the body parser made of it. */
export type RecordedRequest = {
  at: number
  method: string
  path: string
  query: ParsedUrlQuery
  headers: IncomingHttpHeaders
  body: unknown
}

export type RequestLog = {
  /** The last `limit` calls, oldest first. Always the same array. */
  entries: readonly RecordedRequest[]
  clear(): void
  middleware(): RequestHandler
}

/**
 * Keeps what a sandbox was asked, so that a test can say what reached an upstream and what did not.
 *
 * Mount it first: a call is recorded as it comes in, also when it is cut or refused later. Its body is
 * filled in at the moment a body parser sets `req.body` (and stays undefined when none does).
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
        const call: RecordedRequest = {
          at: now(),
          method: req.method,
          path,
          query: parse(query),
          headers: { ...req.headers },
          body: undefined,
        }
        entries.push(call)
        if (entries.length > limit) entries.shift()
        recordBody(req, call)
        next()
      }
    },
  }
}

/** Body parsers only ever assign `req.body`; the accessor sees it without reading the stream itself. */
function recordBody(req: Request, call: RecordedRequest): void {
  call.body = req.body
  Object.defineProperty(req, 'body', {
    configurable: true,
    enumerable: true,
    get: () => call.body,
    set: (body: unknown) => {
      call.body = body
    },
  })
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
