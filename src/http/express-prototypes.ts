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
export function expressPrototypes(app: RequestListener): ExpressPrototypes | undefined {
  if (!hasPrototypes(app)) return undefined
  // Classes: V8 knows beforehand how many fields an instance of a class that extends another will have.
  // With functions, every response grew field by field, which took a tenth of a session check.
  class Request extends IncomingMessage {}
  class Response extends ServerResponse<IncomingMessage> {
    override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
      dropContent(this.req)
      return super.end(chunk, encoding as BufferEncoding, done as () => void)
    }
  }
  app.request = inheriting(Request.prototype, app.request)
  app.response = inheriting(Response.prototype, app.response)
  return { IncomingMessage: Request, ServerResponse: Response }
}

interface ExpressPrototypes {
  readonly IncomingMessage: typeof IncomingMessage
  readonly ServerResponse: typeof ServerResponse<IncomingMessage>
}

interface HasPrototypes {
  request: IncomingMessage
  response: ServerResponse
}

function hasPrototypes(app: unknown): app is HasPrototypes {
  return typeof app === 'function' && 'request' in app && 'response' in app
}

function inheriting<Prototype extends object>(prototype: Prototype, from: Prototype): Prototype {
  return Object.setPrototypeOf(prototype, from)
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
