import { randomBytes } from 'node:crypto'
import { RedisStore } from 'connect-redis'
import type { Request } from 'express'
import type { SessionData } from 'express-session'
import { z } from 'zod'
import { createSeal, type MasterKeys } from '../crypto/keys.ts'
import { getRequestContext, type RequestContext } from '../http/request-context.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { KEYS, startOf } from '../store/keys.ts'
import { createSealedValues } from '../store/sealed-records.ts'
import type { Store } from '../store/store.ts'

/** It contains no upstream token. */
const Session = z.object({
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
export type Session = Readonly<z.infer<typeof Session>>

const SessionRecord = z.object({ version: z.literal(1), id: z.string(), session: Session })

/** A session, and the id in its cookie. */
export interface IdentifiedSession {
  readonly id: string
  readonly session: Session
}

/**
 * The broker checks them by its own clock: a store that keeps a record too long does not prolong a
 * session.
 */
export interface SessionLimits {
  readonly idleMs: number
  readonly absoluteMs: number
  readonly now: () => number
}

/** The times from which on the sessions of a user are void (org-events/void-times.ts). */
export interface VoidTimes {
  /** The id of each session of the user ends with it. */
  tagOf(userId: string): string
  /** For `isVoid`. To be called in the same turn of the event loop as the record is read. */
  timeFor(sessionId: string): Promise<number>
  isVoid(session: Pick<Session, 'createdAtMs'>, voidBeforeMs: number): boolean
}

export interface SessionsOptions extends SessionLimits {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** undefined: the request has no valid device cookie. */
  readonly readDeviceId: (req: Request) => string | undefined
  /**
   * The shortest time between two writes of a session that is in use, but not more than half of the
   * idle time. Default: a minute.
   */
  readonly extendEveryMs?: number
  readonly maxPerUser: number
  readonly voidTimes: VoidTimes
  readonly log: Logger
  readonly metrics: Metrics
}

export type Recheck = (session: Session, from: Pick<RequestContext, 'requestId' | 'address'>) => Promise<void>

declare module 'express-session' {
  interface SessionData {
    /** undefined: the stored record cannot be read. */
    stored?: IdentifiedSession
  }
}

declare module 'express-serve-static-core' {
  interface Request {
    /** The session that `load` has found. */
    stored?: IdentifiedSession
  }
}

export type SessionStore = ReturnType<typeof createSessionStore>

const ID_BYTES = 32

/** `tag` is that of the session's user (void-times.ts). */
export function newSessionId(tag: string): string {
  return randomBytes(ID_BYTES).toString('base64url') + tag
}

/**
 * The records of sessions, in express-session's store: connect-redis, over the broker's own store.
 * express-session only reads: a session is created in the commit of a sign-in step, and extended
 * only if it still exists, so that a sign-out is final.
 */
export function createSessionStore(options: SessionsOptions) {
  const { store } = options
  const prefix = startOf(store, KEYS.session)
  const serializer = createSerializer(options, prefix)
  const expressStore = new RedisStore({
    client: toRedisClient(store),
    prefix,
    serializer,
    ttl: ({ stored }) => Math.ceil((stored ? remainingMs(stored.session, options) : options.idleMs) / 1000),
    disableTouch: true,
  })

  return {
    expressStore,

    /**
     * undefined: the session does not exist or has expired. Without a session: the record cannot be
     * read. It may be void.
     */
    async read(id: string): Promise<StoredSession | undefined> {
      const data: SessionData | null = await expressStore.get(id)
      if (data === null) return undefined
      const { stored } = data
      if (stored?.id !== id) return { session: undefined }
      return remainingMs(stored.session, options) > 0 ? stored : undefined
    },

    async create(id: string, session: Session): Promise<void> {
      await expressStore.set(id, { cookie, stored: { id, session } })
    },

    /**
     * False: the session was ended after it was read, and is not written. connect-redis would write
     * it again.
     */
    extend(id: string, session: Session): Promise<boolean> {
      const value = serializer.stringify({ cookie, stored: { id, session } })
      return store.set(prefix + id, value, remainingMs(session, options), 'present')
    },

    async destroy(id: string): Promise<void> {
      await expressStore.destroy(id)
    },
  }
}

export interface StoredSession {
  readonly session: Session | undefined
}

/** What connect-redis needs of an ioredis client to read, write and delete a session. */
function toRedisClient(store: Pick<Store, 'get' | 'set' | 'delete'>) {
  return {
    get: async (key: string) => (await store.get(key)) ?? null,
    set: (key: string, value: string, _unit: 'EX', seconds: number) => store.set(key, value, seconds * 1000),
    del: (keys: readonly string[]) => Promise.all(keys.map((key) => store.delete(key))),
  }
}

/** The attributes of the cookie are configured, not stored. */
const cookie = { originalMaxAge: null }

/**
 * Seals the records. The id is in the Redis key: reading Redis is not enough to use a session, as
 * its cookie is signed. connect-redis does not pass the key to the serializer, so the record
 * contains its own id: a copy under another id is not valid.
 *
 * @param prefix of the Redis keys, the associated data
 */
function createSerializer(options: SessionsOptions, prefix: string) {
  const values = createSealedValues({
    ...options,
    seal: createSeal(options.masterKeys, 'session'),
    schema: SessionRecord,
    kind: 'session',
  })
  return {
    parse(raw: string): SessionData {
      const record = values.open(raw, prefix)
      if (record === undefined) return { cookie }
      const { id, session } = record
      return { cookie, stored: { id, session } }
    },
    stringify({ stored }: SessionData): string {
      if (stored === undefined) throw new TypeError('there is no session to save')
      return values.seal({ version: 1, ...stored }, prefix)
    },
  }
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

/**
 * The fields that identify request, session and device in an audit event. They contain no login.
 */
export function auditFields(req: Request, { userId, loginHash, deviceHash, publicId }: Session) {
  const { requestId, address } = getRequestContext(req)
  return { requestId, address, userId, loginHash, deviceHash, sessionId: publicId }
}
