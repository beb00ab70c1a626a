import type { ServerResponse } from 'node:http'
import type { ErrorRequestHandler } from 'express'
import { BrokerError, type ErrorObject, internalError, malformedRequest, toErrorObject } from '../errors.ts'
import { failureFields } from '../observability/dependency-failure.ts'
import type { LogFields } from '../observability/log-fields.ts'
import { createLogThrottle } from '../observability/log-throttle.ts'
import type { Logger } from '../observability/logger.ts'
import { getRequestContext, type RequestContext } from './request-context.ts'
import { sendJson } from './send-json.ts'

/**
 * The last middleware. An unexpected error becomes an opaque 500, and is logged as
 * `unexpectedEvent`.
 */
export function errorHandler({ log, unexpectedEvent, now }: ErrorHandlerOptions): ErrorRequestHandler {
  const throttle = createLogThrottle({ ...FAILURE_THROTTLE, ...(now === undefined ? {} : { now }) })

  return function errorHandler(error, req, res, _next) {
    const context = getRequestContext(req)
    const known = asBrokerError(error)
    if (known.status >= 500 && !known.isOfClient) logServerError(known, context)
    if (res.headersSent)
      req.socket.destroy() // a truncated response must not look complete
    else sendError(res, known, context)
  }

  function logServerError(error: BrokerError, { requestId }: RequestContext): void {
    const fields = { requestId, errorCode: error.code, status: error.status }
    if (error.status === 500) log.error(unexpectedEvent, fields, error.cause ?? error)
    else if (error.busy !== undefined) log.warn(error.busy, fields)
    else logFailure(error, fields)
  }

  function logFailure(error: BrokerError, fields: LogFields): void {
    const { dependency, outcome, code, upstreamStatus } = failureFields(error)
    const count = throttle(`${dependency} ${outcome} ${code} ${upstreamStatus}`)
    if (count > 0) log.warn('dependency_failed', { ...fields, count }, error)
  }
}

/** One line for each cause: an outage fails thousands of requests. */
const FAILURE_THROTTLE = { periodMs: 10_000, maxLines: 100 }

export interface ErrorHandlerOptions {
  readonly log: Logger
  readonly unexpectedEvent: 'unexpected_error' | 'ops_error'
  readonly now?: () => number
}

function asBrokerError(error: unknown): BrokerError {
  if (error instanceof BrokerError) return error
  return error instanceof URIError ? malformedRequest(error) : internalError(error)
}

export function sendError(res: ServerResponse, error: BrokerError, context: RequestContext): void {
  context.errorCode = error.code
  context.isErrorOfClient = error.isOfClient
  res.statusCode = error.status
  for (const [name, value] of Object.entries(error.headers)) res.setHeader(name, value)
  const body = toErrorObject(error, context.requestId)
  if (context.errorFormat === 'empty') res.end()
  else if (context.errorFormat === 'page' && /\btext\/html\b/i.test(res.req.headers.accept ?? ''))
    res.setHeader('Content-Type', 'text/html; charset=utf-8').end(errorPage(body))
  else sendJson(res, body)
}

/** An error as an HTML page, without scripts and external resources. */
export function errorPage({ errorCode, errorSummary, errorId, errorCauses }: ErrorObject): string {
  const causes = errorCauses.map((cause) => `\n<li>${escapeHtml(cause.errorSummary)}</li>`).join('')
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Sign-in</title></head>
<body>
<main>
<h1>Something went wrong</h1>
<p>${escapeHtml(errorSummary)}</p>
<p>Go back to the portal and sign in again. If the error persists, give this code to your help desk:</p>
<p><code>${escapeHtml(errorCode)} ${escapeHtml(errorId)}</code></p>${causes && `\n<ul>${causes}\n</ul>`}
</main>
</body>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
