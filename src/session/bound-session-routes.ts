import type { Request, Response } from 'express'
import { invalidField, noSession, proofRefused, tooManyRefreshes } from '../errors.ts'
import { type Operations, type Route, routesOf } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { limitKeyPrefix } from '../store/keys.ts'
import { type LimitConfig, limitWindow } from '../store/limits.ts'
import { isWriteRefused } from '../store/redis-errors.ts'
import type { Store } from '../store/store.ts'
import { isSameKey, type PublicJwk, parseProof, verifyProof } from './bound-session-proof.ts'
import { BOUND_SESSION_PATH, type BoundSessions, headerOf } from './bound-sessions.ts'
import { auditFields, type LoadedSession } from './session.ts'
import type { Sessions } from './sessions.ts'

/** Called by browsers themselves, not by pages. */
export const BOUND_SESSION_OPERATIONS = {
  registerBoundSession: { method: 'POST', path: BOUND_SESSION_PATH, kind: 'bound-session' },
  refreshBoundSession: { method: 'POST', path: `${BOUND_SESSION_PATH}/refresh`, kind: 'bound-session' },
} as const satisfies Operations

export interface BoundSessionRoutesOptions {
  readonly sessions: Pick<Sessions, 'findUnproved' | 'bind' | 'end'>
  readonly boundSessions: BoundSessions
  readonly store: Pick<Store, 'keyPrefix' | 'countAttempt'>
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/**
 * Of one session, over all replicas. A browser needs two requests in ten minutes, and limits itself
 * to about six renewals in half a minute (seen in Chromium 156).
 */
export const REFRESH_LIMIT: LimitConfig = { attempts: 60, perSeconds: 60 }

const CONTINUE_NOT = { continue: false }

export function createBoundSessionRoutes(options: BoundSessionRoutesOptions): Route[] {
  return routesOf(BOUND_SESSION_OPERATIONS, {
    registerBoundSession: (req, res) => register(options, req, res),
    refreshBoundSession: (req, res) => refresh(options, req, res),
  })
}

/**
 * Binds the session to the key of the browser that opened it. The first key stays: a later one is
 * refused, whoever has it.
 */
async function register(options: BoundSessionRoutesOptions, req: Request, res: Response): Promise<void> {
  const { sessions, boundSessions, log, metrics, now } = options
  const found = sessions.findUnproved(req)
  if (found === undefined) throw noSession()
  const { id, session } = found
  const refuse = (cause: string): never => {
    boundSessions.report('proof_refused', auditFields(req, session))
    throw proofRefused(cause)
  }
  // A script in the page can read the challenge, but not send the proof without CORS: it cannot
  // register a key of its own before the browser does.
  if ((req.headers['sec-fetch-mode'] ?? 'no-cors') !== 'no-cors') refuse('only the browser itself sends it')
  const proof = parseProof(headerOf(req, 'secure-session-response'))
  const jwk = proof?.jwk
  if (proof === undefined || jwk === undefined) return refuse('malformed')
  if (boundSessions.tokens.readChallenge('registration', id, proof.challenge) !== 'live')
    refuse('the challenge is not of this session, or too old')
  if (isOther(session.binding, jwk)) refuse(OTHER_KEY)
  if (verifyProof(proof, jwk) !== 'proved') refuse('the key or its signature is not valid')
  const binding = { jwk, boundAtMs: now(), isUsed: false }
  const bound = await sessions.bind(found, binding)
  if (bound === undefined) throw noSession()
  if (isOther(bound.binding, jwk)) refuse(OTHER_KEY)
  if (bound.binding === binding) {
    metrics.sessionsBound.inc()
    log.audit('session_bound', auditFields(req, session))
  }
  instruct(boundSessions, id, boundSessions.tokens.nameOf(id), res)
}

const OTHER_KEY = 'the session is bound to another key'

function isOther(binding: { readonly jwk: PublicJwk } | undefined, jwk: PublicJwk): boolean {
  return binding !== undefined && !isSameKey(binding.jwk, jwk)
}

/**
 * Renews the bound cookie. Scripts cannot send `Sec-Secure-Session-Id`, so that no page can cause a
 * renewal. Browsers forget the key after most errors, but 403 with a challenge and 5xx.
 */
async function refresh(options: BoundSessionRoutesOptions, req: Request, res: Response): Promise<void> {
  const { sessions, boundSessions } = options
  const given = headerOf(req, 'sec-secure-session-id')
  if (given === undefined) throw invalidField('Sec-Secure-Session-Id: missing; only browsers send it')
  const found = sessions.findUnproved(req)
  const binding = found?.session.binding
  const name = SESSION_ID.exec(given)?.[2]
  // the browser has signed in again, or the session has ended
  if (found === undefined || binding === undefined || !isNamed(boundSessions, found, name))
    return sendJson(res, CONTINUE_NOT)
  await enforceLimit(options, found, req)
  const response = headerOf(req, 'secure-session-response')
  const challenge = boundSessions.challengeHeader(found.id, name)
  const askAgain = (cause: string) => proofRefused(cause, { 'Secure-Session-Challenge': challenge })
  if (response === undefined) throw askAgain('missing; sign the challenge')
  const verdict = judgeProof(options, found, binding.jwk, response)
  if (verdict === 'expired') throw askAgain('the challenge is too old')
  if (verdict === 'malformed') {
    boundSessions.report('proof_refused', auditFields(req, found.session))
    throw askAgain('malformed, or not for a challenge of this session')
  }
  if (verdict === 'other_key') {
    await endEverywhere(options, found, req)
    return sendJson(res, CONTINUE_NOT)
  }
  instruct(boundSessions, found.id, name, res)
}

/** A string of RFC 9651, or as Chromium sends it: without quotes. */
const SESSION_ID = /^("?)([\w-]{43})\1$/

function isNamed({ tokens }: BoundSessions, { id }: LoadedSession, name: string | undefined): name is string {
  return name !== undefined && tokens.isNameOf(id, name)
}

function judgeProof(
  { boundSessions: { tokens } }: BoundSessionRoutesOptions,
  { id }: LoadedSession,
  jwk: PublicJwk,
  response: string,
): 'proved' | 'expired' | 'malformed' | 'other_key' {
  const proof = parseProof(response)
  if (proof === undefined || proof.jwk !== undefined) return 'malformed'
  const challenge = tokens.readChallenge('refresh', id, proof.challenge)
  if (challenge !== 'live') return challenge === 'expired' ? 'expired' : 'malformed'
  return verifyProof(proof, jwk)
}

/**
 * Who sends a well-formed proof of another key over a challenge of this session has its cookies,
 * but not its browser: they are stolen.
 */
async function endEverywhere(
  { sessions, log, metrics }: BoundSessionRoutesOptions,
  found: LoadedSession,
  req: Request,
): Promise<void> {
  log.audit('session_key_mismatch', auditFields(req, found.session)) // also if Redis fails now
  metrics.boundSessionRefusals.inc({ reason: 'key_mismatch' })
  await sessions.end(found, 'key_mismatch')
}

/**
 * Who has the cookies could make the broker verify signatures without end. While Redis reads and
 * refuses to write, nothing is counted: a session is then used until its stored end.
 */
async function enforceLimit(
  { store, boundSessions, metrics }: BoundSessionRoutesOptions,
  { id, session }: LoadedSession,
  req: Request,
): Promise<void> {
  const window = limitWindow({ keySuffix: '', name: 'bound_session_refresh' }, REFRESH_LIMIT)
  const keyPrefix = limitKeyPrefix(store, boundSessions.tokens.nameOf(id))
  const counting = store.countAttempt({ keyPrefix, windows: [window] }).catch((error: unknown) => {
    if (isWriteRefused(error)) return { full: undefined }
    throw error
  })
  const { full } = await counting
  if (full === undefined) return
  metrics.limitHits.inc({ limit: 'bound_session_refresh' })
  boundSessions.report('too_many_refreshes', auditFields(req, session))
  throw tooManyRefreshes(Math.max(1, Math.ceil(full.leftMs / 1000)))
}

/** The new bound cookie, the next challenge, and the session instructions. */
function instruct(boundSessions: BoundSessions, id: string, name: string, res: Response): void {
  res.append('Set-Cookie', boundSessions.setCookie(id))
  res.setHeader('Secure-Session-Challenge', boundSessions.challengeHeader(id, name))
  sendJson(res, boundSessions.instructions(name))
}
