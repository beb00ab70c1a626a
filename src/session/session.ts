import type { Request } from 'express'
import { z } from 'zod'
import type { MasterKeys } from '../crypto/keys.ts'
import { getRequestContext, type RequestContext } from '../http/request-context.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Store } from '../store/store.ts'
import { PublicJwk } from './bound-session-proof.ts'
import type { BoundSessions } from './bound-sessions.ts'
import type { SessionLimits } from './session-times.ts'

/** It contains no upstream token. */
export const UnboundSession = z.object({
  /** Safe to show. It is not the id in the cookie. */
  publicId: z.string(),
  /** Okta's user id. */
  userId: z.string(),
  login: z.string(),
  /** As in Okta's response: firstName, lastName, locale, timeZone, login. */
  profile: z.record(z.string(), z.unknown()),
  /** RFC 8176 names. */
  amr: z.array(z.string()).readonly(),
  /** The device that opened the session. */
  deviceId: z.string(),
  /** Keyed hashes, as in the log. */
  loginHash: z.string(),
  deviceHash: z.string(),
  userAgent: z.string(),
  createdAtMs: z.number(),
  /** When the user last signed in. */
  authenticatedAtMs: z.number(),
  /** When the session was last extended. The idle limit starts here. */
  lastSeenAtMs: z.number(),
})

/** The key of the browser to which a session is bound (bound-sessions.ts). */
export const Binding = z.object({
  jwk: PublicJwk,
  boundAtMs: z.number(),
  /** Whether a request has had the bound cookie. */
  isUsed: z.boolean(),
})
export type Binding = Readonly<z.infer<typeof Binding>>

export type Session = Readonly<z.infer<typeof UnboundSession>> & { readonly binding?: Binding }

/** A session, and the id in its cookie. */
export interface IdentifiedSession {
  readonly id: string
  readonly session: Session
}

/** What the cookie of an application on another host says. */
export interface HandedOverSession {
  /** The session may not exist any more. */
  readonly sessionId: string
  /** At the hand-over, the browser had a valid bound cookie. */
  readonly isKeyProved: boolean
}

/** The stored text, for compare-and-set. A symbol, so that it is part of no JSON. */
export const STORED_TEXT = Symbol('stored text')

/** A session as it was read. */
export interface LoadedSession extends IdentifiedSession {
  readonly [STORED_TEXT]?: string
}

/**
 * Tells which sessions are void. `org-events/void-times.ts` implements it: this module does not
 * depend on that one.
 */
export interface VoidTimesReader {
  /** The id of each session of the user ends with it. */
  tagOf(userId: string): string
  /** For `isVoid`. To be called in the same turn of the event loop as the record is read. */
  timeFor(sessionId: string): Promise<number>
  isVoid(session: Pick<Session, 'createdAtMs'>, voidBeforeMs: number): boolean
}

export interface SessionsOptions extends SessionLimits {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** `createDeviceCookie` in authn/browser/client.ts */
  readonly deviceCookie: {
    /** undefined: the request has no valid device cookie. */
    readonly idIn: (req: Request) => string | undefined
  }
  /**
   * The shortest time between two writes of a session that is in use, but not more than half of the
   * idle time. Default: a minute.
   */
  readonly extendEveryMs?: number
  readonly maxPerUser: number
  readonly voidTimes: VoidTimesReader
  readonly boundSessions: BoundSessions
  readonly log: Logger
  readonly metrics: Metrics
}

/** Is the session's user still welcome at Okta? `org-events/recheck.ts` implements it. */
export type Recheck = (session: Session, from: Pick<RequestContext, 'requestId' | 'address'>) => Promise<void>

declare module 'express-serve-static-core' {
  interface Request {
    /** The session that `load` has found. */
    stored?: LoadedSession
    /** Whether the request has what its bound session wants, once that was asked. */
    isProved?: boolean
    /** What the application's cookie says of the bound cookie. undefined: there is none. */
    isKeyProved?: boolean
  }
}

/**
 * The fields that identify request, session and device in an audit event. They contain no login.
 */
export function auditFields(req: Request, session: Session) {
  return auditFieldsOf(getRequestContext(req), session)
}

export function auditFieldsOf(
  { requestId, address }: Pick<RequestContext, 'requestId' | 'address'>,
  { userId, loginHash, deviceHash, publicId }: Session,
) {
  return { requestId, address, userId, loginHash, deviceHash, sessionId: publicId }
}
