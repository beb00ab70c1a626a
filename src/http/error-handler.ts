import type { ServerResponse } from 'node:http'
import type { ErrorRequestHandler } from 'express'
import { BrokerError, internalError, malformedRequest, toErrorObject } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import { errorPage } from './error-page.ts'
import { getRequestContext, type RequestContext } from './request-context.ts'
import { sendJson } from './routes.ts'

/** The last middleware. An unexpected error becomes an opaque 500, and is logged as `unexpectedEvent`. */
export function errorHandler({ log, unexpectedEvent }: ErrorHandlerOptions): ErrorRequestHandler {
  return function errorHandler(error, req, res, _next) {
    const context = getRequestContext(req)
    const known = asBrokerError(error)
    if (known.status >= 500) logServerError(known, context)
    if (res.headersSent)
      req.socket.destroy() // a truncated response must not look complete
    else sendError(res, known, context)
  }

  function logServerError(error: BrokerError, { requestId }: RequestContext): void {
    const fields = { requestId, errorCode: error.code, status: error.status }
    if (error.status === 500) log.error(unexpectedEvent, fields, error.cause ?? error)
    else if (error.busy !== undefined) log.warn(error.busy, fields)
    else log.warn('dependency_failed', fields, error)
  }
}

export interface ErrorHandlerOptions {
  readonly log: Logger
  readonly unexpectedEvent: 'unexpected_error' | 'ops_error'
}

function asBrokerError(error: unknown): BrokerError {
  if (error instanceof BrokerError) return error
  if (error instanceof URIError) return malformedRequest(error)
  return internalError(error)
}

export function sendError(res: ServerResponse, error: BrokerError, context: RequestContext): void {
  context.errorCode = error.code
  res.statusCode = error.status
  for (const [name, value] of Object.entries(error.headers)) res.setHeader(name, value)
  const body = toErrorObject(error, context.requestId)
  if (context.errorFormat === 'empty') res.end()
  else if (context.errorFormat === 'page' && /\btext\/html\b/i.test(res.req.headers.accept ?? ''))
    res.setHeader('Content-Type', 'text/html; charset=utf-8').end(errorPage(body))
  else sendJson(res, body)
}
