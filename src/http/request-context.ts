import type { IncomingMessage } from 'node:http'
import type { AddressProblem } from './client-address.ts'

/** What is known of a request before any route looks at it. */
export interface RequestContext {
  /** In `X-Request-Id`, in our errors' `errorId` and in every log line of the request. */
  readonly requestId: string
  /** W3C trace id, when a trusted proxy sent a well-formed `traceparent`. */
  readonly traceId: string | undefined
  /** The client's one clean address: feeds the upstream, the limits and the logs alike. */
  readonly address: string
  /** Why `address` is the proxy's instead; such a request is refused (`refuse-unknown-address.ts`). */
  readonly addressProblem?: AddressProblem | undefined
}

const contexts = new WeakMap<IncomingMessage, RequestContext>()

export function setContext(req: IncomingMessage, context: RequestContext): void {
  contexts.set(req, context)
}

/** undefined: none of our code has seen it yet. */
export function contextIfBegun(req: IncomingMessage): RequestContext | undefined {
  return contexts.get(req)
}

export function contextOf(req: IncomingMessage): RequestContext {
  const context = contextIfBegun(req)
  if (context === undefined) throw new Error('the request context is set before any route runs')
  return context
}
