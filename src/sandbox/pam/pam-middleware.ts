import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express'
import { type CannedResponse, sendCannedResponse } from '../fault-responses.ts'
import { type ErrorShape, PamError, type PamErrorName, pamErrorResponse } from './pam-errors.ts'
import { rateLimitHeaders } from './pam-rate-limit.ts'
import type { Failure, PamState } from './pam-state.ts'

type State = () => PamState

/** The sandbox's own clock stands on every answer, shifted as it was told. */
export function setDateHeader({ state, now }: { state: State; now: () => number }): RequestHandler {
  return function stampDateHeader(_req, res, next) {
    state().counts.requests += 1
    res.setHeader('Date', new Date(now() + state().clockOffsetMs).toUTCString())
    next()
  }
}

/** Reads any body as text, and as JSON where it says so; what cannot be read stays text. */
export function readBody(): RequestHandler[] {
  return [
    express.text({ type: () => true, limit: '256kb' }),
    function readJson(req, _res, next) {
      if (typeof req.body === 'string' && saysJson(req)) req.body = jsonOrText(req.body)
      next()
    },
  ]
}

/** @throws unsupported_content_type unless the body is a JSON object and the header says so */
export function requireJsonObject(req: Request): Record<string, unknown> {
  const body: unknown = req.body
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  if (!saysJson(req) || !isObject) throw new PamError('unsupported_content_type')
  return body as Record<string, unknown>
}

/** Rate-limit headers on every answer, and the refusal of what is over the limit. */
export function enforceRateLimit({ state }: { state: State }): RequestHandler {
  return function keepServiceUsersAllowance(req, res, next) {
    if (!takeAllowance(state(), req, res)) throw new PamError('too_many_requests')
    next()
  }
}

/** How this API says 429, for a `rate-limited` fault. */
export function rateLimitedResponse({ state, now }: { state: State; now: () => number }) {
  return (retrySeconds: number): CannedResponse => ({
    ...pamErrorResponse('too_many_requests', state().errorShape),
    headers: retryHeaders(state(), now(), retrySeconds),
  })
}

/** Errors that a test asked for. */
export function injectFailures({ state, now }: { state: State; now: () => number }): RequestHandler {
  return function failAsTold(req, res, next) {
    const failure = state().failures.find((one) => one.left > 0 && isMeant(one, req))
    if (failure === undefined) return next()
    failure.left -= 1
    if (failure.error === 'too_many_requests') setAll(res, retryHeaders(state(), now(), failure.retrySeconds))
    setAll(res, failure.headers)
    refuse(state(), res, failure.error, failure.shape)
  }
}

export function rejectDeprecatedPaths({ state }: { state: State }): RequestHandler {
  return function refuseDeprecatedPath(req, _res, next) {
    if (state().deprecatedPaths.has(req.path)) throw new PamError('resource_deprecated')
    next()
  }
}

/** Everything thrown becomes one of the 16 errors. */
export function errorHandler({ state }: { state: State }): ErrorRequestHandler {
  return function answerError(thrown, req, res, _next) {
    if (typeOf(thrown) === 'request.aborted') {
      count(state(), 'client_closed_connection') // Nobody is left to hear it.
      return
    }
    if (!res.hasHeader('X-RateLimit-Limit')) takeAllowance(state(), req, res)
    const error = thrown instanceof PamError ? thrown : new PamError(nameFor(thrown))
    refuse(state(), res, error.error, undefined, error)
  }
}

/** The token of an Authorization header, undefined when there is none to be found. */
export function bearerToken(req: Request): string | undefined {
  return /^Bearer +([\w.~+/-]+=*)$/i.exec(req.headers.authorization ?? '')?.[1]
}

/** What was asked for, as it was sent; `search` is without its question mark. */
export function requestTarget(req: Request): { path: string; search: string } {
  const [path = ''] = req.originalUrl.split('?', 1)
  return { path, search: req.originalUrl.slice(path.length + 1) }
}

function takeAllowance(state: PamState, req: Request, res: Response): boolean {
  const allowance = state.limiter.take(subjectOf(state, req))
  setAll(res, rateLimitHeaders(allowance, state.clockOffsetMs))
  return allowance.allowed
}

/** The limit is a service user's: by its token, or by the key in a token request. */
function subjectOf(state: PamState, req: Request): string {
  const token = bearerToken(req)
  if (token !== undefined) return state.tokens.serviceUserOf(token) ?? 'unknown'
  const body: unknown = req.body
  const named = typeof body === 'object' && body !== null && 'key_id' in body ? body.key_id : undefined
  return (typeof named === 'string' ? state.tokens.serviceUserOfKey(named) : undefined) ?? 'unknown'
}

function refuse(
  state: PamState,
  res: Response,
  error: PamErrorName,
  shape: ErrorShape = state.errorShape,
  { problems = [] }: { problems?: PamError['problems'] } = {},
): void {
  count(state, error)
  sendCannedResponse(res, pamErrorResponse(error, shape, problems))
}

function count(state: PamState, error: PamErrorName): void {
  state.counts.errors[error] = (state.counts.errors[error] ?? 0) + 1
}

function retryHeaders(state: PamState, nowMs: number, retrySeconds: number): Record<string, string> {
  const at = nowMs + retrySeconds * 1000
  const { 'X-RateLimit-Limit': _told, ...headers } = rateLimitHeaders(
    { limit: 0, remaining: 0, resetAt: at, retryAt: at },
    state.clockOffsetMs,
  )
  return headers
}

function isMeant(failure: Failure, req: Request): boolean {
  return (
    (failure.path === undefined || req.originalUrl.startsWith(failure.path)) &&
    (failure.method === undefined || failure.method === req.method)
  )
}

/** What express and its body parser throw: by the status they give it. */
function nameFor(thrown: unknown): PamErrorName {
  const status = typeof thrown === 'object' && thrown !== null && 'status' in thrown ? thrown.status : 500
  if (status === 415) return 'unsupported_content_type'
  return typeof status === 'number' && status < 500 ? 'invalid_request' : 'unknown_error'
}

function typeOf(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null && 'type' in thrown ? thrown.type : undefined
}

function saysJson(req: Request): boolean {
  return /^application\/json\s*(;|$)/i.test(req.headers['content-type'] ?? '')
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text // Not JSON after all: requireJsonObject refuses it.
  }
}

function setAll(res: Response, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
}
