import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { discardBody } from './request-body.ts'

/**
 * Options of `createServer`: requests and responses that have an Express application's prototypes from the start. Express sets
 * the prototypes of each pair that comes in; V8 then discards what it knew of the objects' shape, which is the largest single
 * cost of a small request (63 instead of 22 µs of processor time for an empty answer, docs/performance.md). If the prototypes
 * are right already, nothing changes. For that, the application's own two are replaced by ones that inherit from them.
 *
 * Undefined for a listener that is no Express application.
 */
export function expressPrototypes(app: RequestListener) {
  if (!isExpress(app)) return undefined
  // Classes: V8 knows beforehand how many fields an instance of a class that extends another will have.
  // With functions, every response grew field by field, which took a tenth of a session check.
  class Request extends IncomingMessage {}
  class Response extends ServerResponse<IncomingMessage> {
    override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
      dropContent(this.req)
      return super.end(chunk, encoding as BufferEncoding, done as () => void)
    }
  }
  app.request = Object.setPrototypeOf(Request.prototype, app.request)
  app.response = Object.setPrototypeOf(Response.prototype, app.response)
  return { IncomingMessage: Request, ServerResponse: Response }
}

function isExpress(app: RequestListener): app is RequestListener & Record<'request' | 'response', object> {
  return 'request' in app && 'response' in app
}

/**
 * Frees the memory of a request as its response is written: otherwise a client that does not read earlier responses on its
 * connection could keep it occupied for long.
 */
function dropContent(req: IncomingMessage & { body?: unknown }): void {
  req.rawHeaders = []
  req.headers = {}
  req.body = undefined
  discardBody(req)
}
