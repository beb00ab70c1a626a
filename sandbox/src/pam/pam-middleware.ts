import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express'
import { type CannedResponse, sendCannedResponse } from '../fault-responses.ts'
import { type ErrorShape, PamError, type PamErrorName, pamErrorResponse } from './pam-errors.ts'
import { rateLimitHeaders } from './pam-rate-limit.ts'
import type { Failure, PamState } from './pam-state.ts'

type State = () => PamState

/** Sets the Date header from the sandbox's clock, plus the clock offset. */
export function setDateHeader({ state, now }: { state: State; now: () => number }): RequestHandler {
  return function addDateHeader(_req, res, next) {
    state().counts.requests += 1
    res.setHeader('Date', new Date(now()).toUTCString())
    next()
  }
}

/** Parses a JSON body. A body that is malformed, or not declared as JSON, stays text. */
export function bodyParsers(): RequestHandler[] {
  return [
    express.text({ type: () => true, limit: '256kb' }),
    function parseJsonBody(req, _res, next) {
      if (typeof req.body === 'string' && isDeclaredJson(req)) req.body = jsonOrText(req.body)
      next()
    },
  ]
}

/** @throws unsupported_content_type unless the body is a JSON object, declared as JSON */
export function requireJsonObject(req: Request): Record<string, unknown> {
  const body: unknown = req.body
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  if (!isDeclaredJson(req) || !isObject) throw new PamError('unsupported_content_type')
  return body as Record<string, unknown>
}

/** Sets rate-limit headers on every response, and refuses requests over the limit. */
export function enforceRateLimit({ state }: { state: State }): RequestHandler {
  return function countRequest(req, res, next) {
    if (!consumeRateLimit(state(), req, res)) throw new PamError('too_many_requests')
    next()
  }
}

/** Builds this API's 429 response for `rate-limited` faults. */
export function rateLimitedResponse({ state, now }: { state: State; now: () => number }) {
  return (retrySeconds: number): CannedResponse => ({
    ...pamErrorResponse('too_many_requests', state().errorShape),
    headers: retryHeaders(now(), retrySeconds),
  })
}

/** Sends the errors that `failNext` requested. */
export function injectFailures({ state, now }: { state: State; now: () => number }): RequestHandler {
  return function failRequest(req, res, next) {
    const failure = state().failures.find((candidate) => candidate.remaining > 0 && matches(candidate, req))
    if (failure === undefined) return next()
    failure.remaining -= 1
    if (failure.error === 'too_many_requests') setHeaders(res, retryHeaders(now(), failure.retrySeconds))
    setHeaders(res, failure.headers)
    respondWithError(state(), res, failure.error, failure.shape)
  }
}

export function rejectDeprecatedPaths({ state }: { state: State }): RequestHandler {
  return function rejectDeprecatedPath(req, _res, next) {
    if (state().deprecatedPaths.has(req.path)) throw new PamError('resource_deprecated')
    next()
  }
}

/** Converts every error to one of the 16 errors of the API. */
export function errorHandler({ state }: { state: State }): ErrorRequestHandler {
  return function sendError(thrown, req, res, _next) {
    if (typeOf(thrown) === 'request.aborted') {
      countError(state(), 'client_closed_connection') // No response: the client is gone.
      return
    }
    if (!res.hasHeader('X-RateLimit-Limit')) consumeRateLimit(state(), req, res)
    const error = thrown instanceof PamError ? thrown : new PamError(errorNameFor(thrown))
    respondWithError(state(), res, error.error, undefined, error)
  }
}

/** undefined if the Authorization header has no bearer token. */
export function bearerToken(req: Request): string | undefined {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(req.headers.authorization ?? '')?.[1]
}

/** The request target as sent; `search` is without the question mark. */
export function requestTarget(req: Request): { path: string; search: string } {
  const [path = ''] = req.originalUrl.split('?', 1)
  return { path, search: req.originalUrl.slice(path.length + 1) }
}

function consumeRateLimit(state: PamState, req: Request, res: Response): boolean {
  const status = state.limiter.consume(rateLimitSubject(state, req))
  setHeaders(res, rateLimitHeaders(status))
  return status.allowed
}

/**
 * The service user that the rate limit applies to: the owner of the token, or of the key in a token
 * request.
 */
function rateLimitSubject(state: PamState, req: Request): string {
  const token = bearerToken(req)
  if (token !== undefined) return state.tokens.serviceUserOf(token) ?? 'unknown'
  const body: unknown = req.body
  const keyId = typeof body === 'object' && body !== null && 'key_id' in body ? body.key_id : undefined
  return (typeof keyId === 'string' ? state.tokens.serviceUserOfKey(keyId) : undefined) ?? 'unknown'
}

function respondWithError(
  state: PamState,
  res: Response,
  error: PamErrorName,
  shape: ErrorShape = state.errorShape,
  { problems = [] }: { problems?: PamError['problems'] } = {},
): void {
  countError(state, error)
  sendCannedResponse(res, pamErrorResponse(error, shape, problems))
}

function countError(state: PamState, error: PamErrorName): void {
  state.counts.errors[error] = (state.counts.errors[error] ?? 0) + 1
}

function retryHeaders(nowMs: number, retrySeconds: number): Record<string, string> {
  const at = nowMs + retrySeconds * 1000
  const { 'X-RateLimit-Limit': _limit, ...headers } = rateLimitHeaders({
    limit: 0,
    remaining: 0,
    resetAt: at,
    retryAt: at,
  })
  return headers
}

function matches(failure: Failure, req: Request): boolean {
  return (
    (failure.path === undefined || req.originalUrl.startsWith(failure.path)) &&
    (failure.method === undefined || failure.method === req.method)
  )
}

/** Maps the errors of Express and its body parser by their status. */
function errorNameFor(thrown: unknown): PamErrorName {
  const status = typeof thrown === 'object' && thrown !== null && 'status' in thrown ? thrown.status : 500
  if (status === 415) return 'unsupported_content_type'
  return typeof status === 'number' && status < 500 ? 'invalid_request' : 'unknown_error'
}

function typeOf(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null && 'type' in thrown ? thrown.type : undefined
}

function isDeclaredJson(req: Request): boolean {
  return /^application\/json\s*(;|$)/i.test(req.headers['content-type'] ?? '')
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text // Malformed: requireJsonObject refuses it.
  }
}

function setHeaders(res: Response, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
}
