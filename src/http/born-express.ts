import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { dropContent } from './drop-content.ts'

/**
 * Requests and answers that are Express's own from birth. Express puts its prototypes under every pair that comes in;
 * changing the prototype of a living object makes V8 give up what it knew of its shape, and that is the largest
 * single cost of a small request (63 against 22 µs of processor time for an empty answer, docs/performance.md). An
 * object that has the prototype already is left as it is.
 *
 * For that the application's own two prototypes are replaced, by ones that inherit from them.
 */
export function bornExpress(app: RequestListener): BornExpress | undefined {
  if (!hasPrototypes(app)) return undefined
  // Classes: of a class that extends another, V8 knows beforehand how many fields an instance will have.
  // With functions every answer grew field by field, and a tenth of a session check went into that.
  class Request extends IncomingMessage {}
  class Answer extends ServerResponse<IncomingMessage> {
    override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
      dropContent(this.req)
      return super.end(chunk, encoding as BufferEncoding, done as () => void)
    }
  }
  app.request = under(app.request, Request.prototype)
  app.response = under(app.response, Answer.prototype)
  return { IncomingMessage: Request, ServerResponse: Answer }
}

/** Options of `createServer`. */
export interface BornExpress {
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

function under<Prototype extends object>(upper: Prototype, lower: Prototype): Prototype {
  return Object.setPrototypeOf(lower, upper)
}
