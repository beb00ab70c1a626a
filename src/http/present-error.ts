import type { ErrorRequestHandler, RequestHandler } from 'express'
import { BrokerError, internalError, malformedRequest, notFound, toErrorObject } from '../errors.ts'
import type { Logger } from '../observability/logger.ts'
import { errorPage, wantsErrorPage } from './error-page.ts'
import { contextOf } from './request-context.ts'
import { sendJson } from './send-json.ts'
import { isAnsweredWithoutBody } from './without-body.ts'

/** A path that is not listed. */
export function noSuchPath(): RequestHandler {
  return function noSuchPath() {
    throw notFound('path')
  }
}

/** The last of all: every error becomes the one shape, and what we did not foresee an opaque 500. */
export function presentError({ log }: { log: Logger }): ErrorRequestHandler {
  return function presentError(error, req, res, _next) {
    const { requestId } = contextOf(req)
    const known = asBrokerError(error)
    if (known.status >= 500) logTrouble(log, known, requestId, 'unexpected_error')
    if (res.headersSent) {
      req.socket.destroy() // too late for an answer: half a one must not look whole
      return
    }
    res.locals.errorCode = known.code
    const body = toErrorObject(known, requestId)
    res.status(known.status).set(known.headers)
    if (isAnsweredWithoutBody(req)) res.end()
    else if (wantsErrorPage(req)) res.type('html').send(errorPage(body))
    else sendJson(res, body)
  }
}

/** A fault of ours by the given event; a dependency's; or no trouble, but more than could be taken on. */
export function logTrouble(log: Logger, error: BrokerError, requestId: string, faultEvent: string): void {
  const fields = { requestId, errorCode: error.code, status: error.status }
  if (error.status === 500) log.error(faultEvent, fields, error.cause ?? error)
  else if (error.dependency === undefined) log.warn('turned_away', fields)
  else log.warn('dependency_trouble', fields, error)
}

export function asBrokerError(error: unknown): BrokerError {
  if (error instanceof BrokerError) return error
  if (error instanceof URIError) return malformedRequest(error)
  return internalError(error)
}
