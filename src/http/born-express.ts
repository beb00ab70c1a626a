import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'

/**
 * Requests and answers that are Express's own from birth. Express puts its prototypes under every pair that comes in;
 * changing the prototype of a living object makes V8 give up what it knew of its shape, and that is the largest
 * single cost of a small request (63 against 22 µs of processor time for an empty answer, docs/performance.md). An
 * object that has the prototype already is left as it is.
 */
export function bornExpress(app: RequestListener): BornExpress | undefined {
  if (!hasPrototypes(app)) return undefined
  return {
    IncomingMessage: withPrototype(IncomingMessage, app.request),
    ServerResponse: withPrototype(ServerResponse, app.response),
  }
}

/** Options of `createServer`. */
export interface BornExpress {
  readonly IncomingMessage: typeof IncomingMessage
  readonly ServerResponse: typeof ServerResponse<IncomingMessage>
}

interface HasPrototypes {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

function hasPrototypes(app: unknown): app is HasPrototypes {
  return typeof app === 'function' && 'request' in app && 'response' in app
}

/**
 * A constructor like `base`, whose instances have this prototype; that one inherits from `base.prototype`. By `call`:
 * `Reflect.construct` with a prototype of one's own costs more than it saves. Node's two are functions, not classes.
 */
function withPrototype<Base>(base: Base, prototype: object): Base {
  const initialize = base as unknown as (this: object, first: unknown, second: unknown) => void
  function Born(this: object, first: unknown, second: unknown): void {
    initialize.call(this, first, second)
  }
  Born.prototype = prototype
  return Born as unknown as Base // it constructs what `base` does
}
