import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express'
import express from 'express'
import {
  AuthnError,
  accessDenied,
  errorBody,
  internalError,
  malformedBody,
  notAcceptable,
  notFound,
  rateLimited,
  unsupportedContentType,
} from './authn-error.ts'
import { type ClientContext, readClientContext, requireValidApiToken } from './client-context.ts'
import { inGerman } from './german-errors.ts'
import { randomErrorId } from './issued-tokens.ts'
import { zonesOf } from './network-zones.ts'
import type { Org } from './org.ts'
import { requestIdOf } from './system-log.ts'

export function clientContextOf(org: Org, req: Request): ClientContext {
  return readClientContext(requestInfo(req), trustSettings(org))
}

/**
 * 429 for a request that exceeds the org's limit of concurrent requests. The first two headers are
 * always 0 then, and the reset is an estimate
 * (https://developer.okta.com/docs/reference/rl2-monitor/).
 */
export function enforceConcurrency(org: Org): RequestHandler {
  let inFlight = 0
  return function countInFlight(_req, res, next) {
    inFlight += 1
    res.once('close', () => {
      inFlight -= 1
    })
    if (inFlight > org.config.rateLimits.concurrent) {
      res.set({
        'X-Rate-Limit-Limit': '0',
        'X-Rate-Limit-Remaining': '0',
        'X-Rate-Limit-Reset': String(Math.ceil(org.now() / 1000) + RESET_ESTIMATE_S),
      })
      throw rateLimited()
    }
    next()
  }
}

const RESET_ESTIMATE_S = 60

/** Sets rate-limit headers on every response, including 429. */
export function enforceRateLimit(org: Org): RequestHandler {
  return function countRequest(req, res, next) {
    const { exceeded, headers } = org.rateLimit.count(clientContextOf(org, req))
    res.set(headers)
    if (exceeded) throw rateLimited()
    next()
  }
}

/**
 * Refuses requests from a blocked address before anything else (S14): from one in a blocking zone
 * with a page instead of an Error object, whatever the path; from one that ThreatInsight suspects
 * with E0000006, at primary authentication only.
 */
export function refuseBlockedAddress(org: Org): RequestHandler {
  return function refuseAddress(req, res, next) {
    const { blockedZones, suspectedAddresses } = org.settings
    const { address, ipChain } = clientContextOf(org, req)
    if (zonesOf(ipChain, blockedZones).length > 0) sendBlockedPage(res)
    else if (suspectedAddresses.includes(address) && req.path === '/api/v1/authn') throw accessDenied()
    else next()
  }
}

function sendBlockedPage(res: Response): void {
  res
    .status(403)
    .type('html')
    .send('<!DOCTYPE html>\n<html><body><h1>403 Access Forbidden</h1></body></html>\n')
}

/** 401 E0000011 for an invalid API token on any path. */
export function checkApiToken(org: Org): RequestHandler {
  return function refuseInvalidToken(req, _res, next) {
    requireValidApiToken(requestInfo(req), trustSettings(org))
    next()
  }
}

/**
 * 403 E0000006 if the API token has no right to manage factors. Public apps need none (S17): lists
 * of security questions, QR codes and links that activate a factor are for everyone who was offered
 * them.
 */
export function requireFactorRights(org: Org, req: Request): void {
  const { trusted, administrator } = clientContextOf(org, req)
  if (trusted && administrator !== true && !org.settings.tokenManagesFactors) throw accessDenied()
}

/** 403 E0000006 without an API token, if the setting `verifyNeedsToken` wants one. */
export function requireTokenToVerify(org: Org, req: Request): void {
  if (org.settings.verifyNeedsToken && !clientContextOf(org, req).trusted) throw accessDenied()
}

/** 406 E0000122 if the client does not accept JSON. */
export const requireAcceptsJson: RequestHandler = (req, _res, next) => {
  if (req.accepts('json') === false) throw notAcceptable()
  next()
}

const JSON_TYPE = /^application\/(\S+\+)?json\s*(;|$)/i
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i
/** Duo's frame and the identity provider's page send forms; all other paths take JSON. */
const FORM_PATH = /\/lifecycle\/duoCallback$|^\/identity-provider\//

/** Bodies of up to 1 MB: E0000021 for a wrong content type, E0000003 for a malformed body. */
export function bodyParser(): RequestHandler {
  const json = express.json({ limit: '1mb', type: () => true, strict: true })
  const form = express.urlencoded({ limit: '1mb', type: () => true, extended: false })
  return function parseRequestBody(req, res, next) {
    const isFormPath = FORM_PATH.test(req.path)
    const hasBody =
      req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length']) > 0
    if (hasBody && !(isFormPath ? FORM_TYPE : JSON_TYPE).test(req.headers['content-type'] ?? ''))
      throw unsupportedContentType()
    const parse = isFormPath ? form : json
    parse(req, res, next)
  }
}

export function errorHandler({ random, settings }: Pick<Org, 'random' | 'settings'>): ErrorRequestHandler {
  return function sendErrorObject(error: unknown, req, res, _next) {
    const authnError = toAuthnError(error, req)
    const worded = settings.language === 'de' ? inGerman(authnError) : authnError
    res.status(worded.status).set(worded.headers)
    res.json(errorBody(worded, randomErrorId(random)))
  }
}

/** Builds this API's 429 response for `rate-limited` faults. */
export function rateLimitedResponse(org: Org) {
  return (retrySeconds: number) => ({
    status: 429,
    headers: {
      'X-Rate-Limit-Limit': String(org.config.rateLimits.trustedPerWindow),
      'X-Rate-Limit-Remaining': '0',
      'X-Rate-Limit-Reset': String(Math.ceil(org.now() / 1000 + retrySeconds)),
    },
    body: errorBody(rateLimited(), randomErrorId(org.random)),
  })
}

export function notFoundHandler(req: Request, _res: Response): void {
  throw notFound(`${req.path} (Path)`)
}

function toAuthnError(error: unknown, req: Request): AuthnError {
  if (error instanceof AuthnError) return error
  const type = error !== null && typeof error === 'object' ? Reflect.get(error, 'type') : undefined
  if (typeof type === 'string' && /^(entity|encoding|charset|request)\./.test(type)) return malformedBody()
  if (error instanceof URIError) return notFound(`${req.path} (Path)`)
  return internalError()
}

function requestInfo(req: Request) {
  const socketAddress = req.socket.remoteAddress ?? ''
  return { headers: req.headers, socketAddress, requestId: requestIdOf(req) }
}

function trustSettings(org: Org) {
  const { tokensWithoutRights, adminTokens, zones } = org.config
  const { forwardedForNeedsToken } = org.settings
  return { apiTokens: org.apiTokens, tokensWithoutRights, adminTokens, zones, forwardedForNeedsToken }
}
