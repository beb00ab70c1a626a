import type { Request } from 'express'
import type { MasterKeys } from '../crypto/keys.ts'
import { getRequestContext } from '../http/request-context.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Store } from '../store/store.ts'

/** Who is signed in, since when, on which device and by which factors; no upstream token. */
export interface Session {
  /** A public id, safe to show; never the cookie's. */
  readonly publicId: string
  /** The upstream's opaque user id. */
  readonly userId: string
  readonly login: string
  /** The upstream's profile as it answered it: firstName, lastName, locale, timeZone, login. */
  readonly profile: Readonly<Record<string, unknown>>
  /** Authentication methods, RFC 8176 names. */
  readonly amr: readonly string[]
  /** Keyed hashes of login and device, for the log. */
  readonly loginHash: string
  readonly device: string
  readonly userAgent: string
  readonly createdAtMs: number
  /** When it was last extended; the idle limit counts from here. */
  readonly lastSeenAtMs: number
}

/** A session with the id that is in the cookie. */
export interface IdentifiedSession {
  readonly id: string
  readonly session: Session
}

/** Kept by the broker's own clock: a store that keeps a record too long does not prolong a session. */
export interface SessionLimits {
  readonly idleMs: number
  readonly absoluteMs: number
  readonly now: () => number
}

export interface SessionsOptions extends SessionLimits {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** The device of a request; undefined: it has no valid device cookie. */
  readonly readDeviceId: (req: Request) => string | undefined
  /** A session that is merely used is written at most this often. */
  readonly extendEveryMs: number
  readonly maxPerUser: number
  readonly log: Logger
  readonly metrics: Metrics
}

/** How long it still lives if it is not used; zero or less: it is over. */
export function remainingMs(session: Session, limits: SessionLimits): number {
  return idleExpiresAtMs(session, limits) - limits.now()
}

/** As in responses. */
export function formatTimes(session: Session, limits: SessionLimits) {
  return {
    createdAt: new Date(session.createdAtMs).toISOString(),
    lastSeenAt: new Date(session.lastSeenAtMs).toISOString(),
    expiresAt: new Date(session.createdAtMs + limits.absoluteMs).toISOString(),
    idleExpiresAt: new Date(idleExpiresAtMs(session, limits)).toISOString(),
  }
}

function idleExpiresAtMs({ createdAtMs, lastSeenAtMs }: Session, { idleMs, absoluteMs }: SessionLimits) {
  return Math.min(lastSeenAtMs + idleMs, createdAtMs + absoluteMs)
}

/** What the audit log says about a signed-in user: request, session and device, without a name. */
export function auditFields(req: Request, { userId, loginHash, device, publicId }: Session) {
  const { requestId, address } = getRequestContext(req)
  return { requestId, address, userId, loginHash, deviceHash: device, sessionId: publicId }
}

/**
 * An id of the org is letters and digits (`00u…`). One of another form is no user: it could not be ended by an operator, and
 * would go to the log and into names of keys at any length.
 */
export function isUserId(given: unknown): given is string {
  return typeof given === 'string' && /^[\w-]{1,100}$/.test(given)
}
