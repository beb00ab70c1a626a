import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { discardBody } from './request-body.ts'

/**
 * Options of `createServer` that give requests and responses an Express application's prototypes from the start. Otherwise Express
 * changes the prototypes of each pair, and V8 discards its knowledge of their shape: the largest single cost of a small request
 * (63 instead of 22 µs of processor time for an empty response, docs/performance.md). The application's own prototypes are replaced by
 * classes that inherit from them.
 *
 * Undefined for a listener that is not an Express application.
 */
export function expressPrototypes(app: RequestListener): HttpClasses | undefined {
  if (!isExpress(app)) return undefined
  // Classes, because V8 then knows the number of fields. With constructor functions, every response grew field by field, which took a
  // tenth of the time of a session check.
  class Request extends IncomingMessage {}
  class Response extends ServerResponse<IncomingMessage> {
    override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
      freeContent(this.req)
      return super.end(chunk, encoding as BufferEncoding, done as () => void)
    }
  }
  app.request = Object.setPrototypeOf(Request.prototype, app.request)
  app.response = Object.setPrototypeOf(Response.prototype, app.response)
  return { IncomingMessage: Request, ServerResponse: Response }
}

interface HttpClasses {
  readonly IncomingMessage: typeof IncomingMessage
  readonly ServerResponse: typeof ServerResponse<IncomingMessage>
}

function isExpress(app: RequestListener): app is RequestListener & Record<'request' | 'response', object> {
  return 'request' in app && 'response' in app
}

/** Frees the memory of a request when its response is written. Otherwise a client that does not read responses could keep it occupied. */
function freeContent(req: IncomingMessage & { body?: unknown }): void {
  req.rawHeaders = []
  req.headers = {}
  req.body = undefined
  discardBody(req)
}
