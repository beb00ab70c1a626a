import type { Request } from 'express'
import type { MasterKeys } from '../crypto/keys.ts'
import { getRequestContext } from '../http/request-context.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Store } from '../store/store.ts'

/** It contains no upstream token. */
export interface Session {
  /** Safe to show. It is not the id in the cookie. */
  readonly publicId: string
  /** Okta's user id. */
  readonly userId: string
  readonly login: string
  /** As in Okta's response: firstName, lastName, locale, timeZone, login. */
  readonly profile: Readonly<Record<string, unknown>>
  /** RFC 8176 names. */
  readonly amr: readonly string[]
  /** The device that opened the session. */
  readonly deviceId: string
  /** Keyed hashes, as in the log. */
  readonly loginHash: string
  readonly deviceHash: string
  readonly userAgent: string
  readonly createdAtMs: number
  /** When the session was last extended. The idle limit starts here. */
  readonly lastSeenAtMs: number
}

/** A session, and the id in its cookie. */
export interface IdentifiedSession {
  readonly id: string
  readonly session: Session
}

/** The broker checks them by its own clock: a store that keeps a record too long does not prolong a session. */
export interface SessionLimits {
  readonly idleMs: number
  readonly absoluteMs: number
  readonly now: () => number
}

export interface SessionsOptions extends SessionLimits {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** undefined: the request has no valid device cookie. */
  readonly readDeviceId: (req: Request) => string | undefined
  /** The shortest time between two writes of a session that is in use, but not more than half of the idle time. Default: a minute. */
  readonly extendEveryMs?: number
  readonly maxPerUser: number
  readonly log: Logger
  readonly metrics: Metrics
}

/** The time until the session expires if it is not used; zero or less: it has expired. */
export function remainingMs(session: Session, limits: SessionLimits): number {
  return idleExpiresAtMs(session, limits) - limits.now()
}

/** The times of a session as responses show them. */
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

/** The fields that identify request, session and device in an audit event. They contain no login. */
export function auditFields(req: Request, { userId, loginHash, deviceHash, publicId }: Session) {
  const { requestId, address } = getRequestContext(req)
  return { requestId, address, userId, loginHash, deviceHash, sessionId: publicId }
}

/**
 * Okta's user ids are letters and digits (`00u…`). An id of any other form is refused: it would get into the log and into key
 * names at any length, and operators could not end its sessions.
 */
export function isUserId(given: unknown): given is string {
  return typeof given === 'string' && /^[\w-]{1,100}$/.test(given)
}
